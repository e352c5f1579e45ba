// SPDX-License-Identifier: Apache-2.0
#include "tb/plugin/dut_set_up.h"

#include "model/common/errors.h"
#include "model/index/toeplitz.h"

namespace kvplane::rtl {
namespace {

constexpr std::uint32_t kMostSweep = 1U << 24U;

void rest(MetaLookupDut& dut) {
    for (std::uint32_t i = 0; i < kMostSweep; ++i) {
        if (dut.settle({}).idle) return;
        dut.posedge();
    }
    throw InvariantError("rtl: the engine does not come to rest");
}

}  // namespace

bool write_register(MetaLookupDut& dut, std::uint8_t address, std::uint32_t data) {
    (void)dut.settle({.register_valid = true,
                      .register_write = true,
                      .register_address = address,
                      .register_data = data});
    dut.posedge();
    const DutOutputs out = dut.settle({});
    dut.posedge();
    return out.register_answer_valid && !out.register_error;
}

void set_up(MetaLookupDut& dut, std::uint64_t seed) {
    dut.reset();
    rest(dut);
    const auto seeds = index::toeplitz_seeds(seed);
    bool taken = true;
    for (std::uint8_t half = 0; half < 2; ++half) {
        const auto at = static_cast<std::uint8_t>(Register::kSeed0) + 2 * half;
        taken &= write_register(dut, static_cast<std::uint8_t>(at),
                                static_cast<std::uint32_t>(seeds[half]));
        taken &= write_register(dut, static_cast<std::uint8_t>(at + 1),
                                static_cast<std::uint32_t>(seeds[half] >> 32U));
    }
    taken &= write_register(dut, static_cast<std::uint8_t>(Register::kControl), 1);
    if (!taken) throw InvariantError("rtl: the engine refuses its set-up");
    rest(dut);
}

}  // namespace kvplane::rtl
