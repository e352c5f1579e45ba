// SPDX-License-Identifier: Apache-2.0
/// `kvplane run --events`: what the card's resources were busy with, as a Chrome trace (JSON array
/// of complete events), which Perfetto and chrome://tracing show. One track a resource, and another
/// of its name where spans of one overlap; one span per stage, of an intent (submission, fetch,
/// fence, commit, completion) or of each of its blocks (lookup, record, DRAM, lanes, wires).
///
/// A block's DRAM and lanes begin with its first data and the fill before it drains. What follows
/// another span (fence, commit, completion) shows latency, not what is busy.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "explore/run_config.h"
#include "explore/simulation_file.h"
#include "model/engine/plane_observer.h"
#include "tb/plugin/waves.h"

namespace kvplane::explore {

class EventTrace final : public engine::JobObserver {
public:
    /// No more spans are written than these, whatever the run: about 150 MB.
    static constexpr std::uint64_t kMostSpans = 1'000'000;

    /// `option`: FILE, or FILE:from,to with a window of simulated time, of which a span must touch
    /// some. The file appears when it is finished. Throws UserError.
    EventTrace(const std::string& option, const RunConfig& config);

    void taken_in(const engine::MoveJob& job) override;
    void crossed(const engine::MoveJob& job, engine::Mover mover, std::uint32_t block, Time start,
                 Time end) override;
    void completed(const engine::MoveJob& job) override;
    void dropped() override {}

    /// Writes the end of the file and gives it its name. Throws UserError.
    void finish();
    /// Spans of the window beyond kMostSpans, or too many at once of one resource.
    [[nodiscard]] std::uint64_t left_out() const { return m_left_out; }

private:
    enum class Track : std::uint8_t {
        kSubmission,
        kFetch,
        kLookup,
        kRecord,
        kDram,
        kLanes,
        kUplink,
        kDownlink,
        kFence,
        kCommit,
        kCompletion,
    };
    static constexpr std::size_t kTracks = 11;

    void span(Track track, const engine::MoveJob& job, std::int64_t block, Time start, Time end);
    [[nodiscard]] std::size_t lane_of(Track track, Time start, Time end);
    void add(const std::string& event);

    rtl::WavesOption m_option;
    Time m_submit;  ///< before a doorbell is seen
    Time m_fill;
    Time m_fence;
    SimulationFile m_file;
    std::array<std::vector<Time>, kTracks> m_lanes;  ///< end of the last span of each
    std::uint64_t m_spans = 0;
    std::uint64_t m_left_out = 0;
};

}  // namespace kvplane::explore
