// SPDX-License-Identifier: Apache-2.0
#include "tb/plugin/sram_bank.h"

#include <algorithm>
#include <bit>

#include "model/common/errors.h"

namespace kvplane::rtl {
namespace {

// The functions that sram_1rw.sv calls know no object: an engine opens its banks while it is made.
thread_local SramBanks* opening = nullptr;

}  // namespace

SramBank::SramBank(std::uint32_t depth, std::uint32_t bits, std::uint32_t slots)
    : m_bits(bits),
      m_slots(slots),
      m_row_words((bits * slots + 31) / 32),
      m_words(std::size_t{depth} * m_row_words) {}

void SramBank::read(std::uint32_t row, std::uint32_t* data) const {
    std::copy_n(m_words.data() + std::size_t{row} * m_row_words, m_row_words, data);
}

void SramBank::write(std::uint32_t row, std::uint32_t mask, const std::uint32_t* data) {
    std::uint32_t* words = m_words.data() + std::size_t{row} * m_row_words;
    if (m_marked) {
        m_undo_rows.push_back(row);
        m_undo_words.insert(m_undo_words.end(), words, words + m_row_words);
    }
    for (std::uint32_t slot = 0; slot < m_slots; ++slot) {
        if ((mask >> slot & 1U) == 0) continue;
        for (std::uint32_t done = 0; done < m_bits;) {
            const std::uint32_t bit = slot * m_bits + done;
            const std::uint32_t low = bit % 32;
            const std::uint32_t count = std::min({32 - low, m_bits - done, 32 - done % 32});
            const std::uint32_t ones = count == 32 ? ~0U : (1U << count) - 1;
            const std::uint32_t value = data[done / 32] >> done % 32 & ones;
            words[bit / 32] = (words[bit / 32] & ~(ones << low)) | value << low;
            done += count;
        }
    }
}

void SramBank::rewind() {
    while (!m_undo_rows.empty()) {
        const std::size_t at = m_undo_words.size() - m_row_words;
        std::copy_n(m_undo_words.data() + at, m_row_words,
                    m_words.data() + std::size_t{m_undo_rows.back()} * m_row_words);
        m_undo_words.resize(at);
        m_undo_rows.pop_back();
    }
}

void SramBanks::mark() {
    for (const auto& bank : m_banks) bank->mark();
}

void SramBanks::rewind() {
    for (const auto& bank : m_banks) bank->rewind();
}

SramBank& SramBanks::open(std::uint32_t depth, std::uint32_t bits, std::uint32_t slots) {
    m_banks.push_back(std::make_unique<SramBank>(depth, bits, slots));
    return *m_banks.back();
}

SramBanks::Opening::Opening(SramBanks& banks) { opening = &banks; }
SramBanks::Opening::~Opening() { opening = nullptr; }

}  // namespace kvplane::rtl

// What sram_1rw.sv calls. A bank's address is its handle.
extern "C" {

unsigned long long kvplane_sram_open(int depth, int bits, int slots) {
    using namespace kvplane;
    if (rtl::opening == nullptr) throw InvariantError("rtl: an SRAM bank opens outside an engine");
    return std::bit_cast<std::uintptr_t>(&rtl::opening->open(static_cast<std::uint32_t>(depth),
                                                             static_cast<std::uint32_t>(bits),
                                                             static_cast<std::uint32_t>(slots)));
}

void kvplane_sram_read(unsigned long long bank, int row, std::uint32_t* data) {
    std::bit_cast<const kvplane::rtl::SramBank*>(static_cast<std::uintptr_t>(bank))
        ->read(static_cast<std::uint32_t>(row), data);
}

void kvplane_sram_write(unsigned long long bank, int row, int mask, const std::uint32_t* data) {
    std::bit_cast<kvplane::rtl::SramBank*>(static_cast<std::uintptr_t>(bank))
        ->write(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(mask), data);
}
}
