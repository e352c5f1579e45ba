// SPDX-License-Identifier: Apache-2.0
#include "explore/event_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "model/common/sim_time.h"

namespace kvplane::explore {
namespace {

using engine::MoveJob;

constexpr std::array<std::string_view, 11> kNames{
    "submission", "fetch",    "index lookup", "record", "DRAM",      "lanes",
    "uplink",     "downlink", "fence",        "commit", "completion"};

/// Spans of one resource that may overlap; what more do is left out.
constexpr std::size_t kLanes = 256;

std::string_view kind_of(const MoveJob& job) {
    switch (job.opcode()) {
        case engine::Opcode::kPromote:
            return "promote";
        case engine::Opcode::kPrefetch:
            return "prefetch";
        case engine::Opcode::kDemote:
            return "demote";
        case engine::Opcode::kDiscard:
            return "discard";
        default:
            return "control";
    }
}

/// Microseconds, to the picosecond.
std::string us(Time time) {
    return fmt::format("{}.{:06}", time.ps / 1'000'000, time.ps % 1'000'000);
}

Time fence_of(const engine::EngineConfig& config) {
    return config.fence == engine::Fence::kReadFlush ? config.read_flush : Time{};
}

}  // namespace

EventTrace::EventTrace(const std::string& option, const RunConfig& config)
    : m_option(rtl::WavesOption::parse(option, "--events")),
      m_submit(config.driver.submit + config.card.flight),
      m_fill(config.card.codec.fill),
      m_fence(fence_of(config.card.engine)),
      m_file(m_option.file) {
    m_file.write(
        "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
        "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": "
        "\"card\"}}");
}

void EventTrace::add(const std::string& event) {
    m_file.write(",\n");
    m_file.write(event);
}

/// The first lane of a track that is free at `start`, or kLanes; a new one has its name written.
std::size_t EventTrace::lane_of(Track track, Time start, Time end) {
    std::vector<Time>& lanes = m_lanes[static_cast<std::size_t>(track)];
    const auto free =
        std::find_if(lanes.begin(), lanes.end(), [&](Time busy) { return busy <= start; });
    const auto lane = static_cast<std::size_t>(free - lanes.begin());
    if (free != lanes.end()) {
        *free = end;
        return lane;
    }
    if (lane == kLanes) return lane;
    lanes.push_back(end);
    const std::string_view name = kNames[static_cast<std::size_t>(track)];
    const std::size_t tid = static_cast<std::size_t>(track) * kLanes + lane;
    add(
        fmt::format("{{\"ph\": \"M\", \"pid\": 1, \"tid\": {}, \"name\": \"thread_name\", "
                    "\"args\": {{\"name\": \"{}{}\"}}}}",
                    tid, name, lane == 0 ? "" : fmt::format(" {}", lane + 1)));
    add(
        fmt::format("{{\"ph\": \"M\", \"pid\": 1, \"tid\": {0}, \"name\": \"thread_sort_index\", "
                    "\"args\": {{\"sort_index\": {0}}}}}",
                    tid));
    return lane;
}

void EventTrace::span(Track track, const MoveJob& job, std::int64_t block, Time start, Time end) {
    if (end <= start || end < m_option.from || start >= m_option.to) return;
    const std::size_t lane = m_spans == kMostSpans ? kLanes : lane_of(track, start, end);
    if (lane == kLanes) {
        ++m_left_out;
        return;
    }
    ++m_spans;
    const std::size_t tid = static_cast<std::size_t>(track) * kLanes + lane;
    const std::string of = block < 0 ? "" : fmt::format(", \"block\": {}", block);
    add(
        fmt::format("{{\"ph\": \"X\", \"pid\": 1, \"tid\": {}, \"name\": \"{}\", \"ts\": {}, "
                    "\"dur\": {}, \"args\": {{\"intent\": {}, \"queue\": {}{}}}}}",
                    tid, kind_of(job), us(start), us(end - start), job.serial, job.queue, of));
}

void EventTrace::taken_in(const MoveJob& job) {
    span(Track::kSubmission, job, -1, std::max(Time{}, job.arrived - m_submit), job.arrived);
}

void EventTrace::crossed(const MoveJob& job, engine::Mover mover, std::uint32_t block, Time start,
                         Time end) {
    const MoveJob::Block& moved = job.blocks[block];
    const Time looked_up = moved.looked_up;
    span(Track::kLookup, job, block, looked_up - moved.lookup, looked_up);
    span(Track::kRecord, job, block, looked_up, looked_up + moved.record);
    const bool push = mover == engine::kPush;
    const Time first = push ? start - m_fill : start;
    span(Track::kDram, job, block, first - moved.dram, push ? end - m_fill : end);
    if (mover == engine::kMove) return;
    span(Track::kLanes, job, block, first, end);
    span(push ? Track::kUplink : Track::kDownlink, job, block, start, end);
}

void EventTrace::completed(const MoveJob& job) {
    span(Track::kFetch, job, -1, job.fetch_started, job.admitted);
    if (job.ended != Time{}) {
        if (job.promotes()) span(Track::kFence, job, -1, job.ended - m_fence, job.ended);
        span(Track::kCommit, job, -1, job.ended, job.settled);
    }
    span(Track::kCompletion, job, -1, job.settled, now());
}

void EventTrace::finish() {
    m_file.write("\n]}\n");
    m_file.finish();
}

}  // namespace kvplane::explore
