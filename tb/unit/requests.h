// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "model/common/random.h"
#include "model/index/request.h"

namespace kvplane::rtl {

/// Random requests on `keys` keys: half LOOKUPs, the rest INSERT, UPDATE, DELETE and EVICT.
class RandomRequests {
public:
    RandomRequests(std::uint64_t seed, std::uint64_t keys)
        : m_random(seed, "requests"), m_keys(keys) {}

    index::Request draw() {
        using index::Operation;
        index::Request request{.key = key_of(m_random.uniform(m_keys))};
        request.entry = std::bit_cast<index::Entry>(
            std::array<std::uint64_t, 2>{m_random.bits(), m_random.bits()});
        if (request.entry.free()) request.entry.state = 1;
        const std::uint64_t dice = m_random.uniform(100);
        request.operation = dice < 50   ? Operation::kLookup
                            : dice < 80 ? Operation::kInsert
                            : dice < 92 ? Operation::kUpdate
                            : dice < 98 ? Operation::kDelete
                                        : Operation::kEvict;
        return request;
    }
    /// The n-th key.
    static std::uint64_t key_of(std::uint64_t n) { return mix64(n * 0x9E3779B97F4A7C15ULL); }
    RandomStream& random() { return m_random; }

private:
    RandomStream m_random;
    std::uint64_t m_keys;
};

}  // namespace kvplane::rtl
