// SPDX-License-Identifier: Apache-2.0
/// Waveforms of the engine: a second verilated engine, which can trace, is given the requests that
/// the first one took, at the same edges. So what was clocked ahead and taken back is not seen, and
/// a run without waveforms costs nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/common/units.h"
#include "model/index/request.h"
#include "tb/plugin/lookup_dut.h"

namespace kvplane::rtl {

/// `FILE[:from,to]`, with times that carry their units. Throws UserError.
struct WavesOption {
    std::string file;
    Time from;
    Time to = Time::never();

    /// `option` is the one that `text` was given to, for what is wrong. Throws UserError.
    [[nodiscard]] static WavesOption parse(const std::string& text,
                                           std::string_view option = "--waves");
};

class Waves {
public:
    /// Edges are multiples of `period`. Throws UserError where the file cannot be written.
    Waves(const WavesOption& option, Time period, std::uint64_t seed);
    ~Waves();
    Waves(const Waves&) = delete;
    Waves& operator=(const Waves&) = delete;

    /// A request that was presented from one edge on and taken by another; in order. Throws
    /// InvariantError where this engine takes it at another edge.
    void taken(const index::Request& request, std::int64_t presented, std::int64_t accepted);
    /// Clocks on until the engine is idle, and closes the file.
    void finish();

private:
    /// One cycle, traced where its edge is in the window. Returns what its edge saw.
    DutOutputs clock(const DutInputs& inputs);

    WavesOption m_option;
    Time m_period;
    std::unique_ptr<TracedDut> m_dut;
    std::int64_t m_edge = 0;
    std::uint8_t m_next_id = 0;
};

}  // namespace kvplane::rtl
