// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>

#include "model/index/resident_index.h"

namespace kvplane::index {

/// DRAM that answers a line after 57 ns, however many are under way, and the hot records' keys.
class FakeDram final : public RecordReader {
public:
    static constexpr Time kLineTime = Time::from_ns(57);

    Time read_record_line(Time at, std::uint64_t /*line*/) override {
        ++reads;
        return at + kLineTime;
    }
    std::optional<block::BlockKey> key_of(std::uint32_t frame) override { return keys.at(frame); }

    int reads = 0;
    std::unordered_map<std::uint32_t, block::BlockKey> keys;  ///< by frame
};

}  // namespace kvplane::index
