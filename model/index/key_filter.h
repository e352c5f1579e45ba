// SPDX-License-Identifier: Apache-2.0
/// An on-chip counting Bloom filter of the keys in DRAM: a key that it does not know is not there,
/// and costs no read. Four arrays of 4-bit counters, one read in each a key; a counter that reaches
/// 15 stays there. Of n keys in m counters an absent key passes with a probability of
/// (1 - (1 - 4/m)^n)^4.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/units.h"

namespace kvplane::index {

class KeyFilter {
public:
    static constexpr std::uint32_t kArrays = 4;

    /// `size`: a power of two, at least 64 B; or nothing, and every key may be there.
    explicit KeyFilter(Bytes size);

    [[nodiscard]] bool may_hold(std::uint64_t key) const;
    void add(std::uint64_t key);
    /// `key` must have been added.
    void remove(std::uint64_t key);
    /// Forgets every key.
    void clear() { m_counters.assign(m_counters.size(), 0); }
    [[nodiscard]] std::uint64_t counters() const { return m_counters.size(); }

private:
    [[nodiscard]] std::size_t counter(std::uint32_t array, std::uint64_t key) const;

    std::uint64_t m_mask = 0;              ///< of one array
    std::vector<std::uint8_t> m_counters;  ///< a byte each in the model
};

}  // namespace kvplane::index
