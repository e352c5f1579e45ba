// SPDX-License-Identifier: Apache-2.0
#include "model/memory/sram_macro.h"

#include <cmath>

namespace kvplane::memory {
namespace {

std::int64_t delay_percent(SramNode node) {
    switch (node) {
        case SramNode::k22nm:
            return 100;
        case SramNode::k7nm:
            return 65;
        case SramNode::k5nm:
            return 60;
    }
    return 100;
}

}  // namespace

Time sram_access_time(const SramMacroConfig& config) {
    // t = 0.214 ns + 0.933 ns x sqrt(M) + 0.00844 ns x w, M in MiB, w in 64 bits. The square root
    // is correctly rounded on every machine.
    const double root = std::sqrt(static_cast<double>(config.capacity.count) / 1048576.0);
    const double ps = 214.0 + 933.0 * root + 8.44 * static_cast<double>(config.port_bits) / 64.0;
    return {static_cast<std::int64_t>(ps) * delay_percent(config.node) / 100};
}

}  // namespace kvplane::memory
