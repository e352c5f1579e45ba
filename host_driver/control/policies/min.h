// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_driver/control/policies/ranked.h"

namespace kvplane::control {

/// Furthest next use first, what is never read again before all. Offline: needs Access::next_read.
/// Exact for promotions (bounds.h); of one chain the leaf leaves first, so the chain rule costs it
/// nothing.
class Min final : public RankedPolicy {
public:
    explicit Min(std::size_t blocks) : RankedPolicy(blocks) {}

private:
    /// Brought in ahead of its reference: about to be read.
    std::uint64_t arrive(BlockIndex /*block*/, const Moment& /*now*/) override {
        return kNeverRead;
    }
    std::uint64_t use(const Access& access) override { return kNeverRead - access.next_read; }
};

}  // namespace kvplane::control
