// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_driver/control/policies/ranked.h"

namespace kvplane::control {

/// Least recently used, leaf first. Keeps no state.
class Lru final : public RankedPolicy {
public:
    explicit Lru(std::size_t blocks) : RankedPolicy(blocks) {}

private:
    std::uint64_t arrive(BlockIndex /*block*/, const Moment& /*now*/) override { return 0; }
    std::uint64_t use(const Access& /*access*/) override { return 0; }
};

}  // namespace kvplane::control
