// SPDX-License-Identifier: Apache-2.0
#include "model/engine/intent.h"

#include <boost/crc.hpp>

namespace kvplane::engine {

std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return crc.checksum();
}

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
