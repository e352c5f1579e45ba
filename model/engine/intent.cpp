// SPDX-License-Identifier: Apache-2.0
#include "model/engine/intent.h"

#include "model/common/crc32c.h"

namespace kvplane::engine {

std::uint32_t intent_crc(const Intent& intent) {
    return crc32c({reinterpret_cast<const std::uint8_t*>(&intent), offsetof(Intent, crc)});
}

GatherEntry make_gather_entry(const block::BlockKey& key, std::uint32_t slot,
                              std::uint32_t length_4k) {
    return {.key_low = key.low,
            .key_high = key.high,
            .slot = slot,
            .length_4k = {static_cast<std::uint8_t>(length_4k),
                          static_cast<std::uint8_t>(length_4k >> 8),
                          static_cast<std::uint8_t>(length_4k >> 16)}};
}

}  // namespace kvplane::engine
