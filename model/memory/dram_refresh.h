// SPDX-License-Identifier: Apache-2.0
/// Which refreshes a subchannel owes, and what the next step towards one is. A refresh falls due at
/// fixed intervals; from then on its banks open no row and move no data, are closed by one command
/// and refreshed by another. An idle rank is not stepped: skip() does in one piece what would have
/// happened.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "model/memory/ddr5_config.h"
#include "model/memory/dram_banks.h"

namespace kvplane::memory {

class DramRefresh {
public:
    static constexpr Cycle kNever = std::numeric_limits<Cycle>::max();

    enum class Step : std::uint8_t { kDue, kPrecharge, kRefresh };
    struct Next {
        Cycle at = kNever;
        Step step = Step::kDue;
        std::uint32_t rank = 0;
    };

    /// The first refresh is `offset` later than an interval.
    explicit DramRefresh(const Ddr5Config& config, Cycle offset = 0);

    /// The earliest step of all ranks, at `floor` or later.
    [[nodiscard]] Next next(const DramBanks& banks, Cycle floor) const;
    /// No step is due before this.
    [[nodiscard]] Cycle soonest() const { return m_soonest; }
    /// The banks that a due refresh holds: they take no command but its own.
    [[nodiscard]] const BankMask& held() const { return m_held; }
    /// The banks that the next refresh of a rank refreshes.
    [[nodiscard]] BankMask banks_of(std::uint32_t rank) const;

    /// Carries a step out, and says which command it gave; none for kDue.
    void due(std::uint32_t rank);
    [[nodiscard]] DramCommand precharge(const Next& next, DramBanks& banks);
    [[nodiscard]] DramCommand refresh(const Next& next, DramBanks& banks);
    /// An ACT was given: a refresh of the rank's other banks keeps its distance.
    void activated(Cycle at, std::uint32_t rank) { m_ranks[rank].last_activate = at; }
    /// Least time from an ACT to a refresh of other banks of its rank; 0 where it takes all banks.
    [[nodiscard]] Cycle activate_gap() const { return m_activate_gap; }

    /// The refreshes of an idle rank that fall due up to `to`, all but the last, in one piece:
    /// count is zero where there are fewer than two, or a bank is not closed and ready for the
    /// first.
    [[nodiscard]] DramCommand skip(std::uint32_t rank, Cycle to, DramBanks& banks);

    /// Takes another interval over from the next refresh on.
    void set_interval(Cycle interval) { m_interval = interval; }

private:
    struct Rank {
        Cycle due = kNever;
        bool pending = false;
        std::uint32_t set = 0;  ///< bank of each group that is next; same-bank only
        Cycle last_refresh = 0;
        Cycle last_activate = 0;
    };

    [[nodiscard]] Next step_of(std::uint32_t rank, const DramBanks& banks, Cycle floor) const;
    void find_soonest();
    [[nodiscard]] std::uint32_t first_bank(std::uint32_t rank) const;

    DramGeometry m_geometry;
    bool m_same_bank;
    Cycle m_interval;
    Cycle m_time;
    Cycle m_others;  ///< to ACT of the banks not refreshed
    Cycle m_activate_gap;
    std::array<Rank, 4> m_ranks{};
    BankMask m_held;
    Cycle m_soonest = kNever;
};

}  // namespace kvplane::memory
