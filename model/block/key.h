// SPDX-License-Identifier: Apache-2.0
/// The identity of a block as a 128-bit digest. Prefix hash, layer range, head group and sharing
/// salt are hashed; sequence id, positions, provenance and tenant are not, so that sequences with
/// one prefix name one block.
#pragma once

#include <compare>
#include <cstdint>

namespace kvplane::block {

/// A 128-bit digest of every token from the start of a sequence to the end of a block.
struct PrefixHash {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    constexpr auto operator<=>(const PrefixHash&) const = default;
};

/// The 128-bit name of a block.
struct BlockKey {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    constexpr auto operator<=>(const BlockKey&) const = default;

    /// The 64-bit key of the card's index. Not injective: two keys may fold to one value, so the
    /// full key in the block's record decides.
    [[nodiscard]] std::uint64_t fold() const;
};

/// What of a model a block holds, beside its positions.
struct Slice {
    std::uint16_t first_layer = 0;
    std::uint16_t last_layer = 0;  ///< inclusive
    std::uint16_t head_group = 0;
    constexpr auto operator<=>(const Slice&) const = default;
};

/// The digest of `parent` followed by the tokens that `content` stands for. A root's parent is
/// PrefixHash{}. `content` is a trace's id for those tokens, or a digest of them.
[[nodiscard]] PrefixHash extend(PrefixHash parent, std::uint64_t content);

/// The key of the block that ends at `prefix`. Blocks with different salts are never shared.
[[nodiscard]] BlockKey make_key(PrefixHash prefix, Slice slice, std::uint64_t salt);

}  // namespace kvplane::block
