// SPDX-License-Identifier: Apache-2.0
/// CRC32C (Castagnoli), as descriptors, records and chunks carry it.
#pragma once

#include <cstdint>
#include <span>

namespace kvplane {

/// Of at most INT_MAX bytes.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::uint8_t> bytes);

}  // namespace kvplane
