// SPDX-License-Identifier: Apache-2.0
/// The serving engine: continuous batching with chunked prefill. One step after another; between
/// two steps it looks at arrivals and completions, admits, and forms the next batch.
#pragma once

#include <systemc>
#include <vector>

#include "host_driver/control/control_plane.h"
#include "host_driver/gpu/step_time.h"
#include "host_driver/serving/config.h"
#include "host_driver/serving/metrics.h"
#include "host_driver/workload/request.h"
#include "model/common/event_heap.h"

namespace kvplane::serving {

/// Hears how far a run is.
class ProgressListener {
public:
    virtual ~ProgressListener() = default;
    virtual void progress(std::uint64_t finished, std::uint64_t total, Time simulated) = 0;
};

/// Hears that the warm-up is over: what is counted from here on is the result.
class WarmUpListener {
public:
    virtual ~WarmUpListener() = default;
    virtual void warmed_up() = 0;
};

class Engine final : public sc_core::sc_module, public control::ReadyListener {
public:
    /// Serves the requests of `workload` on `frames` frames. Requests that arrive before `warm_up`
    /// are served but not measured. All arguments must outlive the engine.
    Engine(sc_core::sc_module_name name, const ServingConfig& config,
           const workload::Workload& workload, const gpu::StepTime& step_time, std::uint64_t frames,
           Time warm_up, block::Ledger& ledger);

    /// To be set before the simulation starts.
    void bind(control::ControlPlane& control) { m_control = &control; }
    void listen(ProgressListener& listener) { m_progress = &listener; }
    void listen(WarmUpListener& listener) { m_warm_up_listener = &listener; }
    /// Walk every read set of every step.
    void check_every_step() { m_check = true; }

    void holdings_changed() override;

    [[nodiscard]] const ServingMetrics& metrics() const { return m_metrics; }
    [[nodiscard]] const std::vector<QueueSample>& queue_samples() const { return m_samples; }
    /// Requests larger than the budget by themselves, as indices into the workload.
    [[nodiscard]] const std::vector<std::uint32_t>& infeasible() const { return m_infeasible; }
    /// Requests neither finished nor infeasible; not zero only if the run got stuck.
    [[nodiscard]] std::uint64_t unfinished() const { return m_unfinished; }

private:
    enum class Event : std::uint8_t { kWarmUp, kArrival, kStepEnd };
    /// What is known of a request before and after its stays in the engine.
    struct Progress {
        std::uint32_t generated = 0;
        Time last_token;
    };
    struct Sequence {
        std::uint32_t request = 0;
        control::Holding holding;
        std::uint32_t prompt = 0;   ///< tokens to prefill: input, and what a preemption lost
        std::uint32_t context = 0;  ///< tokens whose KV is there
        std::uint32_t chunk = 0;    ///< tokens of this step; 0: not in it
        std::uint64_t frames = 0;   ///< blocks that it has frames for
        bool decoding() const { return context >= prompt; }
    };

    void start_of_simulation() override;
    void run();
    void begin_measuring();
    void take_arrivals();
    void begin_step();
    void join_ready();
    void reserve_decode_blocks();
    [[nodiscard]] bool grow(Sequence& sequence);
    void preempt_last();
    void form_batch();
    void admit();
    [[nodiscard]] bool try_admit(std::uint32_t request);
    void start_compute();
    void end_step();
    void count_reads();
    void advance(Sequence& sequence);
    void emit_token(Sequence& sequence);
    void finish(Sequence& sequence);
    void note_stall();
    [[nodiscard]] std::uint64_t blocks_of(std::uint64_t tokens) const;
    [[nodiscard]] std::uint64_t blocks_at_end(const workload::Request& request) const;
    [[nodiscard]] bool measured(std::uint32_t request) const;

    ServingConfig m_config;
    const workload::Workload& m_workload;
    const gpu::StepTime& m_step_time;
    std::uint64_t m_frames;
    std::uint64_t m_spare;
    Time m_warm_up;
    block::Ledger& m_ledger;
    control::ControlPlane* m_control = nullptr;
    ProgressListener* m_progress = nullptr;
    WarmUpListener* m_warm_up_listener = nullptr;
    bool m_check = false;

    std::vector<Sequence> m_sequences;  ///< pool, never reallocated
    std::vector<std::uint32_t> m_free;
    std::vector<std::uint32_t> m_loading;  ///< in order of admission
    std::vector<std::uint32_t> m_running;  ///< in order of admission
    std::vector<std::uint32_t> m_waiting;  ///< preempted requests, the next one last
    std::vector<std::uint32_t> m_arrived;  ///< requests, from m_arrived_head on
    std::size_t m_arrived_head = 0;
    std::uint32_t m_next_arrival = 0;
    std::vector<Progress> m_requests;  ///< by request
    EventHeap<Event> m_events;
    gpu::StepLoad m_load;
    bool m_computing = false;
    Time m_stalled_since = Time::never();
    std::uint64_t m_unfinished = 0;
    ServingMetrics m_metrics;
    std::vector<QueueSample> m_samples;
    std::vector<std::uint32_t> m_infeasible;
};

}  // namespace kvplane::serving
