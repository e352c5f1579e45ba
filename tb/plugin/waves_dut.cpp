// SPDX-License-Identifier: Apache-2.0
// The engine with tracing.
#include "Vlookup_waves.h"
#include "tb/plugin/dut_of.h"
#include "verilated_fst_c.h"

namespace kvplane::rtl {
namespace {

class WavesDut final : public DutOf<Vlookup_waves, TracedDut> {
public:
    WavesDut() {
        context().traceEverOn(true);
        top().trace(&m_trace, kDepth);
    }
    void open(const std::string& file) override {
        m_trace.set_time_unit("1ps");
        m_trace.set_time_resolution("1ps");
        m_trace.open(file.c_str());
    }
    void dump(std::int64_t ps) override {
        if (ps >= 0) m_trace.dump(static_cast<std::uint64_t>(ps));
    }
    void close() override { m_trace.close(); }

private:
    static constexpr int kDepth = 99;  // levels of hierarchy: all
    VerilatedFstC m_trace;
};

}  // namespace

std::unique_ptr<TracedDut> make_waves_dut() { return std::make_unique<WavesDut>(); }

}  // namespace kvplane::rtl
