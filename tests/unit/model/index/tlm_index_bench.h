// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "fake_dram.h"
#include "model/index/tlm_index.h"

namespace kvplane::index {

inline constexpr Time kLineTime = FakeDram::kLineTime;

struct KeyHash {
    std::size_t operator()(const block::BlockKey& key) const {
        return static_cast<std::size_t>(key.low ^ key.high);
    }
};

inline Entry entry_with(std::uint32_t frame) {
    Entry entry;
    entry.frame = frame;
    entry.state = 1;
    return entry;
}

/// Two keys with one fold. XXH3 of 16 bytes mixes them into swap(a) + b + fold(a x b) of two
/// masked halves: where one is zero the product is, and either half alone can give the same sum.
inline std::pair<block::BlockKey, block::BlockKey> keys_of_one_fold(std::uint64_t sum) {
    constexpr std::uint64_t kMaskHigh = 0x6782737bea4239b9;
    constexpr std::uint64_t kMaskLow = 0xaf56bc3b0996523a;
    return {{.high = kMaskHigh, .low = sum ^ kMaskLow},
            {.high = __builtin_bswap64(sum) ^ kMaskHigh, .low = kMaskLow}};
}

class TlmIndexTest : public testing::Test {
protected:
    FakeDram m_reads;
    std::unique_ptr<TlmIndex> make(const IndexConfig& config = {}) {
        auto made = std::make_unique<TlmIndex>(config);
        made->bind(m_reads);
        return made;
    }
    /// Writes the record, then the entry.
    Time insert(TlmIndex& index, const block::BlockKey& key, std::uint32_t frame, Time at) {
        m_reads.keys[frame] = key;
        return index.insert(key, entry_with(frame), at).done;
    }
    static void replace(TlmIndex& index, const block::BlockKey& key, std::uint32_t frame) {
        (void)index.update(key, entry_with(frame), field::kAll, std::nullopt, {});
    }
};

}  // namespace kvplane::index
