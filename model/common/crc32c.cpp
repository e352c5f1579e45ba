// SPDX-License-Identifier: Apache-2.0
#include "model/common/crc32c.h"

#include <boost/crc.hpp>

namespace kvplane {

std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return crc.checksum();
}

}  // namespace kvplane
