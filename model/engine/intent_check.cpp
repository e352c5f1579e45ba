// SPDX-License-Identifier: Apache-2.0
#include "model/engine/intent_check.h"

#include "model/engine/tier.h"
#include "model/management/queue_registers.h"

namespace kvplane::engine {
namespace {

bool is_argument_sound(Opcode opcode, std::uint32_t argument) {
    switch (opcode) {
        case Opcode::kPin:
            return argument != 0;
        case Opcode::kShare:
            return argument <= UINT16_MAX;
        default:
            return true;
    }
}

/// Of a move: length, window and slot.
IntentFlaw flaw_of_target(const Intent& intent) {
    const std::uint64_t low = intent.target & ((std::uint64_t{1} << 48) - 1);
    if (intent.length_4k == 0) return IntentFlaw::kLength;
    if (intent.target >> 48 >= management::kWindows) return IntentFlaw::kWindow;
    if ((intent.flags & kGatherList) == 0 && low > UINT32_MAX) return IntentFlaw::kSlot;
    return IntentFlaw::kNone;
}

}  // namespace

IntentFlaw flaw_of(const Intent& intent) {
    const auto opcode = static_cast<Opcode>(intent.opcode);
    const bool list = (intent.flags & kGatherList) != 0;
    if (intent.crc != intent_crc(intent)) return IntentFlaw::kCrc;
    if (intent.format_version != kFormatVersion) return IntentFlaw::kFormat;
    if (intent.opcode == 0 || intent.opcode > kLastOpcode) return IntentFlaw::kOpcode;
    if (intent.transfer_class < static_cast<std::uint8_t>(kMostUrgentClass) ||
        intent.transfer_class > static_cast<std::uint8_t>(kLeastUrgentClass)) {
        return IntentFlaw::kClass;
    }
    // One address cannot tell where several blocks are.
    const bool mapped = opcode == Opcode::kPin && (intent.flags & kMapped) != 0;
    if (list && (opcode == Opcode::kCancel || mapped)) return IntentFlaw::kList;
    if (intent.count == 0 || (!list && intent.count != 1)) return IntentFlaw::kCount;
    if (intent.tenant == kEveryTenant) return IntentFlaw::kTenant;
    if (!is_argument_sound(opcode, intent.argument)) return IntentFlaw::kArgument;
    return is_move(opcode) ? flaw_of_target(intent) : IntentFlaw::kNone;
}

}  // namespace kvplane::engine
