// SPDX-License-Identifier: Apache-2.0
#include "model/block/ledger.h"

#include <fmt/format.h>

#include "model/common/errors.h"

namespace kvplane::block {

Ledger::Ledger(std::uint32_t blocks, OnBreach on_breach)
    : m_state(blocks), m_on_breach(on_breach) {}

void Ledger::breach(BlockIndex b, const char* what) {
    ++m_counts.violations;
    if (m_on_breach == OnBreach::kCount) return;
    throw InvariantError(fmt::format(
        "write-once: block {} {} (HBM copy {}, tier copy {}, "
        "demoted in this life {}, lives so far {})",
        b.value, what, has(b, kInHbm), has(b, kInTier), has(b, kWritten), m_counts.lives));
}

void Ledger::produced(BlockIndex b) {
    if (has(b, kInHbm) || has(b, kInTier)) breach(b, "produced while a copy exists");
    if (has(b, kProduced)) {
        ++m_counts.recomputed;
    } else {
        ++m_counts.distinct;
    }
    ++m_counts.lives;
    clear(b, kWritten);
    set(b, kProduced);
    set(b, kInHbm);
}

void Ledger::demoted(BlockIndex b) {
    if (!has(b, kInHbm)) breach(b, "demoted without a copy in HBM");
    if (has(b, kInTier)) breach(b, "demoted twice in one life");
    if (has(b, kWritten)) ++m_counts.unbacked_writes;
    ++m_counts.demotions;
    if (!has(b, kUnread)) ++m_unread;
    set(b, kUnread);
    set(b, kWritten);
    set(b, kInTier);
}

void Ledger::promoted(BlockIndex b) {
    if (!has(b, kInTier)) breach(b, "promoted without a copy in the tier");
    if (has(b, kInHbm)) breach(b, "promoted while a copy is in HBM");
    ++m_counts.promotions;
    if (has(b, kUnread)) --m_unread;
    clear(b, kUnread);
    set(b, kInHbm);
}

void Ledger::left_hbm(BlockIndex b, bool written_back) {
    if (!has(b, kInHbm)) breach(b, "left HBM without a copy there");
    if (has(b, kInTier) && !written_back) ++m_counts.clean_discards;
    clear(b, kInHbm);
}

void Ledger::left_tier(BlockIndex b) {
    if (!has(b, kInTier)) breach(b, "left the tier without a copy there");
    ++m_counts.tier_evictions;
    // The copy's demotion stays a dead write; a later one is another.
    clear(b, kUnread);
    clear(b, kInTier);
}

void Ledger::read(BlockIndex b) {
    if (!has(b, kInHbm)) breach(b, "read while not in HBM");
    ++m_counts.reads;
}

void Ledger::restart_counts() {
    m_counts = {.violations = m_counts.violations};
    m_unread = 0;
    for (std::uint8_t& state : m_state) state &= static_cast<std::uint8_t>(~unsigned{kUnread});
}

double Ledger::a_read() const {
    if (required() == 0) return 0;
    return static_cast<double>(m_counts.promotions) / static_cast<double>(required());
}

double Ledger::a_traffic() const {
    if (required() == 0) return 0;
    return static_cast<double>(m_counts.promotions + m_counts.demotions) /
           static_cast<double>(required());
}

double Ledger::reuse_per_move() const {
    const std::uint64_t moves = m_counts.promotions + m_counts.demotions;
    if (moves == 0) return -1;
    return static_cast<double>(m_counts.reads) / static_cast<double>(moves);
}

}  // namespace kvplane::block
