// SPDX-License-Identifier: Apache-2.0
#include "model/common/crc32c.h"

#include <isa-l/crc.h>

namespace kvplane {

std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
    // The library reads only, whatever its signature says.
    auto* data = const_cast<std::uint8_t*>(bytes.data());
    return ~crc32_iscsi(data, static_cast<int>(bytes.size()), ~0U);
}

}  // namespace kvplane
