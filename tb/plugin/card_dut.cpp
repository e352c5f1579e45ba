// SPDX-License-Identifier: Apache-2.0
// The engine as the card has it, with its SRAM in C++ and its state rewindable.
#include <cstring>
#include <vector>

#include "Vlookup_card.h"
#include "Vlookup_card___024root.h"
#include "tb/plugin/dut_of.h"
#include "tb/plugin/sram_bank.h"

namespace kvplane::rtl {
namespace {

struct Banks {
    SramBanks banks;
    SramBanks::Opening opening{banks};
};

/// All registers and wires of the verilated engine are plain values in one object, which is copied
/// as it lies there and back onto itself.
class CardDut final : private Banks, public DutOf<Vlookup_card, RewindableDut> {
public:
    void mark() override {
        const Vlookup_card___024root* root = top().rootp;
        m_state.resize(sizeof(*root));
        std::memcpy(m_state.data(), static_cast<const void*>(root), m_state.size());
        banks.mark();
    }
    void rewind() override {
        std::memcpy(static_cast<void*>(top().rootp), m_state.data(), m_state.size());
        banks.rewind();
    }
    [[nodiscard]] index::Entry peek(std::uint32_t half, std::uint64_t bucket,
                                    std::uint32_t slot) const override {
        constexpr std::uint32_t kHalfBanks = kCardShape.banks / 2;
        constexpr std::uint32_t kSlotBits = 144;
        const auto row = banks[half * kHalfBanks + bucket % kHalfBanks].row(
            static_cast<std::uint32_t>(bucket / kHalfBanks));
        std::array<std::uint32_t, 4> words{};
        for (std::uint32_t i = 0; i < words.size(); ++i) {
            const std::uint32_t bit = slot * kSlotBits + 32 * i;
            words[i] = row[bit / 32] >> bit % 32;
            if (bit % 32 != 0) words[i] |= row[bit / 32 + 1] << (32 - bit % 32);
        }
        return std::bit_cast<index::Entry>(words);
    }

private:
    std::vector<unsigned char> m_state;
};

}  // namespace

std::unique_ptr<RewindableDut> make_card_dut() { return std::make_unique<CardDut>(); }

}  // namespace kvplane::rtl
