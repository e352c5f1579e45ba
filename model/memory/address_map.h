// SPDX-License-Identifier: Apache-2.0
/// Which rank, bank group, bank, row and column a line of a subchannel lives in.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/memory/dram_timing.h"

namespace kvplane::memory {

/// Where a line is. The bank is flat: (rank x groups + group) x banks + bank of the group.
struct DramPlace {
    std::uint32_t bank = 0;
    std::uint32_t row = 0;
    std::uint32_t column = 0;  ///< line within the row

    bool operator==(const DramPlace&) const = default;
};

/// An order of address bits, parsed from words, most significant first: `row`, `rank`, `bank`,
/// `group`, `column`, each with all its bits; `columnN` is N low bits of the column apart from the
/// rest. A last word `xor` folds the low bits of the row into bank group and bank, so that rows
/// apart by a power of two do not meet in one bank. Or a name:
///   mop4            row rank column bank group column2      four lines a row visit
///   mop4-xor        the same with xor
///   row-bank-column row bank group rank column              a row at a time
///   bank-interleave row column rank bank group              each line in another bank group
///   bank-row-column rank bank group row column              streams stay in one bank
class AddressMap {
public:
    /// Throws UserError where the order names a field twice, leaves one out, or says another word.
    AddressMap(std::string_view order, const DramGeometry& geometry);

    /// `line` below geometry.lines().
    [[nodiscard]] DramPlace place(std::uint64_t line) const;
    /// The line at a place: the inverse of place().
    [[nodiscard]] std::uint64_t line(const DramPlace& place) const;

    /// The names, for schemas and tests.
    [[nodiscard]] static const std::array<const char*, 5>& names();

private:
    enum class Field : std::uint8_t { kRow, kRank, kBank, kGroup, kColumn };
    static constexpr std::uint32_t kFields = 5;
    /// Some bits of a field, at their place in the line number.
    struct Slice {
        Field field = Field::kRow;
        std::uint32_t shift = 0;      ///< in the line number
        std::uint32_t field_low = 0;  ///< lowest bit within the field
        std::uint32_t bits = 0;
    };
    using Values = std::array<std::uint64_t, kFields>;

    void add(std::string_view word, std::string_view order);
    void settle(std::string_view order);
    [[nodiscard]] std::uint64_t hash(std::uint64_t row) const;

    std::array<std::uint32_t, kFields> m_width{};
    std::array<Slice, kFields + 1> m_slices{};
    std::uint32_t m_count = 0;
    bool m_hash = false;
};

}  // namespace kvplane::memory
