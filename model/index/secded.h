// SPDX-License-Identifier: Apache-2.0
/// SECDED (72,64): a Hsiao code. Any one wrong bit of the 72 is corrected, any two are detected;
/// more may pass as a correction.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace kvplane::index {

inline constexpr std::uint32_t kCheckBits = 8;
/// Bits of a protected entry: two words and their check bits.
inline constexpr std::uint32_t kProtectedBits = 2 * (64 + kCheckBits);

namespace detail {

/// The 64 columns of data bits: all 56 bytes of weight three, then 8 of weight five.
constexpr std::array<std::uint8_t, 64> hsiao_columns() {
    std::array<std::uint8_t, 64> columns{};
    std::size_t n = 0;
    for (const int weight : {3, 5}) {
        for (unsigned value = 0; value < 256 && n < columns.size(); ++value) {
            if (std::popcount(value) == weight) columns[n++] = static_cast<std::uint8_t>(value);
        }
    }
    return columns;
}
inline constexpr auto kColumns = hsiao_columns();

}  // namespace detail

[[nodiscard]] constexpr std::uint8_t check_bits(std::uint64_t word) {
    std::uint8_t check = 0;
    for (; word != 0; word &= word - 1) {
        check ^= detail::kColumns[static_cast<std::size_t>(std::countr_zero(word))];
    }
    return check;
}

enum class WordState : std::uint8_t { kGood, kCorrected, kUncorrectable };

struct DecodedWord {
    std::uint64_t word = 0;
    WordState state = WordState::kGood;
};

/// `word` as read with its `check` bits.
[[nodiscard]] constexpr DecodedWord decode(std::uint64_t word, std::uint8_t check) {
    const auto syndrome = static_cast<std::uint8_t>(check_bits(word) ^ check);
    if (syndrome == 0) return {word, WordState::kGood};
    if (std::popcount(syndrome) == 1) return {word, WordState::kCorrected};  // a check bit
    for (std::size_t bit = 0; bit < detail::kColumns.size(); ++bit) {
        if (detail::kColumns[bit] == syndrome) {
            return {word ^ std::uint64_t{1} << bit, WordState::kCorrected};
        }
    }
    return {word, WordState::kUncorrectable};
}

}  // namespace kvplane::index
