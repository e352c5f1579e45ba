// SPDX-License-Identifier: Apache-2.0
/// What any card refuses as malformed, whatever its registers say.
#pragma once

#include <cstdint>

#include "model/engine/intent.h"

namespace kvplane::engine {

/// The first thing that is wrong with a descriptor.
enum class IntentFlaw : std::uint8_t {
    kNone,
    kCrc,
    kFormat,    ///< another format_version
    kOpcode,    ///< there is no such opcode
    kClass,     ///< there is no such class
    kCount,     ///< of no block, or of several without a gather list
    kList,      ///< of a cancel, or of a pin that asks for an address
    kTenant,    ///< the one that stands for all
    kArgument,  ///< a pin of no time, or a share with a tenant that cannot be
    kLength,    ///< a move of nothing
    kWindow,    ///< a move through a window that no queue pair has
    kSlot,      ///< a move of a slot that no window has
};

[[nodiscard]] IntentFlaw flaw_of(const Intent& intent);

/// Whether a move has payload to place: promotions, prefetches and demotions.
[[nodiscard]] constexpr bool is_move(Opcode opcode) {
    return opcode == Opcode::kPromote || opcode == Opcode::kPrefetch || opcode == Opcode::kDemote;
}

/// Whether an entry of a move's gather list has the length that the descriptor tells of; the last
/// block of a chain may be shorter.
[[nodiscard]] inline bool fits(const Intent& intent, const GatherEntry& entry, bool last) {
    const std::uint32_t length = entry.length();
    return last ? length != 0 && length <= intent.length_4k : length == intent.length_4k;
}

}  // namespace kvplane::engine
