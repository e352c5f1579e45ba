// SPDX-License-Identifier: Apache-2.0
#include "model/common/crc32c.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace kvplane {
namespace {

constexpr std::uint32_t kReversed = 0x82F63B78;  ///< 0x1EDC6F41, bits in reverse order
constexpr std::size_t kAtOnce = 8;
static_assert(std::endian::native == std::endian::little, "words are taken as they lie");

using Tables = std::array<std::array<std::uint32_t, 256>, kAtOnce>;

/// Table t: what a byte does to the remainder t bytes behind it.
constexpr Tables make_tables() {
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = rest >> 1U ^ ((rest & 1U) != 0 ? kReversed : 0);
        tables[0][byte] = rest;
    }
    for (std::size_t t = 1; t < kAtOnce; ++t) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t rest = tables[t - 1][byte];
            tables[t][byte] = rest >> 8U ^ tables[0][rest & 0xFFU];
        }
    }
    return tables;
}
constexpr Tables kTables = make_tables();

}  // namespace

/// Eight bytes at a time: every intent and every record read has a CRC, and libraries at hand take
/// one byte after another, a tenth of what a move costs to simulate.
std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
    std::uint32_t crc = ~0U;
    const auto look_up = [](std::size_t table, std::uint64_t word) {
        return kTables[table][word >> 8 * (kAtOnce - 1 - table) & 0xFFU];
    };
    for (; bytes.size() >= kAtOnce; bytes = bytes.subspan(kAtOnce)) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), kAtOnce);
        word ^= crc;
        crc = look_up(7, word) ^ look_up(6, word) ^ look_up(5, word) ^ look_up(4, word) ^
              look_up(3, word) ^ look_up(2, word) ^ look_up(1, word) ^ look_up(0, word);
    }
    for (const std::uint8_t byte : bytes) crc = crc >> 8U ^ kTables[0][(crc ^ byte) & 0xFFU];
    return ~crc;
}

}  // namespace kvplane
