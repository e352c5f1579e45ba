// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_driver/control/policies/ranked.h"

namespace kvplane::control {

/// First in, first out; of blocks that come in together, in the order of on_insert. Keeps no state.
class Fifo final : public RankedPolicy {
public:
    explicit Fifo(std::size_t blocks) : RankedPolicy(blocks) {}

private:
    std::uint64_t arrive(BlockIndex /*block*/, const Moment& /*now*/) override {
        return ++m_arrivals;
    }
    std::uint64_t use(const Access& access) override { return number(access.block); }

    std::uint64_t m_arrivals = 0;
};

}  // namespace kvplane::control
