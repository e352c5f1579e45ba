// SPDX-License-Identifier: Apache-2.0
/// Little-endian fields of payloads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvplane::management {

/// `size` bytes at `offset` as an integer; they must be there.
[[nodiscard]] inline std::uint64_t get_le(std::span<const std::uint8_t> bytes, std::size_t offset,
                                          std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i != 0; --i) value = value << 8U | bytes[offset + i - 1];
    return value;
}

inline void put_le(std::span<std::uint8_t> bytes, std::size_t offset, std::size_t size,
                   std::uint64_t value) {
    for (std::size_t i = 0; i < size; ++i, value >>= 8U) {
        bytes[offset + i] = static_cast<std::uint8_t>(value);
    }
}

/// Appends an integer of `size` bytes.
inline void append_le(std::vector<std::uint8_t>& bytes, std::size_t size, std::uint64_t value) {
    for (std::size_t i = 0; i < size; ++i, value >>= 8U) {
        bytes.push_back(static_cast<std::uint8_t>(value));
    }
}

}  // namespace kvplane::management
