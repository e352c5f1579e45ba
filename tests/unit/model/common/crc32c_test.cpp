// SPDX-License-Identifier: Apache-2.0
#include "model/common/crc32c.h"

#include <gtest/gtest.h>

#include <boost/crc.hpp>
#include <string_view>
#include <vector>

#include "model/common/random.h"

namespace kvplane {
namespace {

TEST(Crc32cTest, IsThatOfItsCheckString) {
    constexpr std::string_view kCheck = "123456789";
    const std::vector<std::uint8_t> bytes(kCheck.begin(), kCheck.end());
    EXPECT_EQ(crc32c(bytes), 0xE3069283U);
    EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32cTest, IsThatOfALibraryAtEveryLength) {
    RandomStream random(5, "crc32c");
    for (std::size_t length = 0; length < 300; ++length) {
        std::vector<std::uint8_t> bytes(length);
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
        boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> twin;
        twin.process_bytes(bytes.data(), bytes.size());
        EXPECT_EQ(crc32c(bytes), twin.checksum()) << length;
    }
}

}  // namespace
}  // namespace kvplane
