// SPDX-License-Identifier: Apache-2.0
/// What a KV block is: its shape and size, and how a run names it.
#pragma once

#include <compare>
#include <cstdint>

#include "model/common/units.h"

namespace kvplane::block {

/// Names a distinct block of one run: a dense index into that run's block table. The card never
/// sees it (the card knows keys); ledgers and host tables are arrays over it.
struct BlockIndex {
    std::uint32_t value = 0;
    constexpr auto operator<=>(const BlockIndex&) const = default;
};

/// No block: the parent of a root.
inline constexpr BlockIndex kNoBlock{UINT32_MAX};

/// K and V of a range of positions over a range of layers.
struct Shape {
    std::uint32_t tokens = 16;
    std::uint32_t layers = 80;
    std::uint32_t kv_heads = 8;
    std::uint32_t head_dim = 128;
    std::uint32_t bytes_per_value = 2;

    /// Bytes of one token: K and V of every layer and head.
    [[nodiscard]] constexpr Bytes bytes_per_token() const {
        return Bytes{2} * layers * kv_heads * head_dim * bytes_per_value;
    }
    /// Bytes of one block (M_b). 5 MiB by default.
    [[nodiscard]] constexpr Bytes bytes() const { return bytes_per_token() * tokens; }
};

/// Blocks have between these sizes.
inline constexpr Bytes kSmallestBlock = Bytes::from_kib(4);
inline constexpr Bytes kLargestBlock = Bytes::from_mib(160);

}  // namespace kvplane::block
