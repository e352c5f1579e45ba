// SPDX-License-Identifier: Apache-2.0
/// The Toeplitz H3 hash of the lookup engine: bit j of the result is the parity of the tag and the
/// seed shifted right by j. One 63-bit seed makes one hash.
#pragma once

#include <array>
#include <cstdint>
#include <random>

namespace kvplane::index {

/// The 63-bit seeds of the hashes of all choices, in a table of `seed`.
[[nodiscard]] inline std::array<std::uint64_t, 4> toeplitz_seeds(std::uint64_t seed) {
    std::mt19937_64 draws(seed);
    std::array<std::uint64_t, 4> seeds{};
    for (std::uint64_t& s : seeds) s = draws() & ((std::uint64_t{1} << 63U) - 1);
    return seeds;
}

class Toeplitz {
public:
    /// `bits` of the key (2 to 32) select the bucket; the tag has the other 64 - bits.
    Toeplitz(std::uint64_t seed, std::uint32_t bits) {
        const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
        for (std::size_t byte = 0; byte < m_tables.size(); ++byte) {
            for (std::size_t value = 0; value < 256; ++value) {
                std::uint64_t hash = 0;
                for (std::size_t bit = 0; bit < 8; ++bit) {
                    if ((value >> bit & 1U) != 0) hash ^= seed >> (8 * byte + bit) & mask;
                }
                m_tables[byte][value] = static_cast<std::uint32_t>(hash);
            }
        }
    }

    [[nodiscard]] std::uint32_t operator()(std::uint64_t tag) const {
        std::uint32_t hash = 0;
        for (std::size_t byte = 0; byte < m_tables.size(); ++byte) {
            hash ^= m_tables[byte][tag >> (8 * byte) & 0xFFU];
        }
        return hash;
    }

private:
    std::array<std::array<std::uint32_t, 256>, 8> m_tables{};  ///< by byte of the tag
};

/// Two hashes of one tag at the price of one: the first in the low 32 bits, the second above.
class ToeplitzPair {
public:
    ToeplitzPair(const Toeplitz& first, const Toeplitz& second) {
        for (std::size_t byte = 0; byte < m_tables.size(); ++byte) {
            for (std::uint64_t value = 0; value < 256; ++value) {
                const std::uint64_t tag = value << (8 * byte);
                m_tables[byte][value] = std::uint64_t{second(tag)} << 32U | first(tag);
            }
        }
    }

    [[nodiscard]] std::uint64_t operator()(std::uint64_t tag) const {
        std::uint64_t hash = 0;
#pragma GCC unroll 8
        for (std::size_t byte = 0; byte < m_tables.size(); ++byte) {
            hash ^= m_tables[byte][tag >> (8 * byte) & 0xFFU];
        }
        return hash;
    }

private:
    std::array<std::array<std::uint64_t, 256>, 8> m_tables{};  ///< by byte of the tag
};

}  // namespace kvplane::index
