// SPDX-License-Identifier: Apache-2.0
/// The words of an engine's SRAM banks, in C++: writes since a mark can be taken back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kvplane::rtl {

/// One bank. A row has `slots` slots of `bits` bits, packed; 32-bit words, low bits first.
class SramBank {
public:
    SramBank(std::uint32_t depth, std::uint32_t bits, std::uint32_t slots);

    void read(std::uint32_t row, std::uint32_t* data) const;
    /// Writes `data`, one slot, to the slots of `mask`.
    void write(std::uint32_t row, std::uint32_t mask, const std::uint32_t* data);
    [[nodiscard]] std::span<const std::uint32_t> row(std::uint32_t row) const {
        return {m_words.data() + std::size_t{row} * m_row_words, m_row_words};
    }

    /// Writes from now on can be taken back; those before are for good.
    void mark() {
        m_undo_rows.clear();
        m_undo_words.clear();
        m_marked = true;
    }
    /// Takes back the writes since mark(); the mark stays.
    void rewind();

private:
    std::uint32_t m_bits;
    std::uint32_t m_slots;
    std::uint32_t m_row_words;
    bool m_marked = false;
    std::vector<std::uint32_t> m_words;
    std::vector<std::uint32_t> m_undo_rows;   ///< rows written, oldest first
    std::vector<std::uint32_t> m_undo_words;  ///< what they held
};

/// The banks of one engine, in the order in which they open: half by half, bank by bank.
class SramBanks {
public:
    [[nodiscard]] SramBank& operator[](std::size_t i) { return *m_banks[i]; }
    [[nodiscard]] const SramBank& operator[](std::size_t i) const { return *m_banks[i]; }
    [[nodiscard]] std::size_t size() const { return m_banks.size(); }
    void mark();
    void rewind();

    /// While it lives, banks that open are of `banks`.
    class Opening {
    public:
        explicit Opening(SramBanks& banks);
        ~Opening();
        Opening(const Opening&) = delete;
        Opening& operator=(const Opening&) = delete;
    };

    SramBank& open(std::uint32_t depth, std::uint32_t bits, std::uint32_t slots);

private:
    std::vector<std::unique_ptr<SramBank>> m_banks;
};

}  // namespace kvplane::rtl
