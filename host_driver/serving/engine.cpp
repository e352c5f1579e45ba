// SPDX-License-Identifier: Apache-2.0
#include "host_driver/serving/engine.h"

#include <algorithm>

#include "model/common/errors.h"
#include "model/common/sim_time.h"

namespace kvplane::serving {
namespace {

constexpr std::uint32_t kMillion = 1'000'000;
/// Finished requests between two reports of progress.
constexpr std::uint64_t kProgressEvery = 64;

}  // namespace

Engine::Engine(sc_core::sc_module_name name, const ServingConfig& config,
               const workload::Workload& workload, const gpu::StepTime& step_time,
               std::uint64_t frames, Time warm_up, block::Ledger& ledger)
    : sc_module(name),
      m_config(config),
      m_workload(workload),
      m_step_time(step_time),
      m_frames(frames),
      m_spare(frames * config.watermark.ppm / kMillion),
      m_warm_up(warm_up),
      m_ledger(ledger),
      m_sequences(config.batch_sequences),
      m_requests(workload.requests.size()),
      m_events("events") {
    for (std::uint32_t i = config.batch_sequences; i-- > 0;) m_free.push_back(i);
    m_samples.reserve(workload.requests.size());
    SC_HAS_PROCESS(Engine);
    SC_METHOD(run);
    sensitive << m_events.event();
    dont_initialize();
}

std::uint64_t Engine::blocks_of(std::uint64_t tokens) const {
    return (tokens + m_workload.tokens_per_block - 1) / m_workload.tokens_per_block;
}

std::uint64_t Engine::blocks_at_end(const workload::Request& request) const {
    // The last token is never read, so its KV is never made.
    return blocks_of(std::uint64_t{request.input_tokens} + request.output_tokens - 1);
}

bool Engine::measured(std::uint32_t request) const {
    return m_workload.requests[request].arrival >= m_warm_up;
}

void Engine::start_of_simulation() {
    if (m_workload.requests.empty()) return;
    m_unfinished = m_workload.requests.size();
    m_metrics.first_arrival = m_workload.requests.front().arrival;
    m_metrics.last_arrival = m_workload.requests.back().arrival;
    m_metrics.finished = m_metrics.first_arrival;
    m_metrics.measured_from = m_metrics.first_arrival;
    if (m_warm_up > m_metrics.first_arrival) m_events.schedule(m_warm_up, Event::kWarmUp);
    m_events.schedule(m_metrics.first_arrival, Event::kArrival);
}

void Engine::run() {
    Event event{};
    while (m_events.pop_due(event)) {
        if (event == Event::kWarmUp) begin_measuring();
        if (event == Event::kStepEnd) end_step();
        take_arrivals();
        if (!m_computing) begin_step();
    }
}

void Engine::begin_measuring() {
    m_metrics.measured_from = now();
    m_metrics.steps = 0;
    m_metrics.preemptions = 0;
    m_metrics.busy = {};
    m_metrics.compute = {};
    m_metrics.engine_stall = {};
    if (m_stalled_since != Time::never()) m_stalled_since = now();
    m_samples.clear();
    if (m_warm_up_listener != nullptr) m_warm_up_listener->warmed_up();
}

void Engine::holdings_changed() {
    if (!m_computing && m_unfinished != 0) begin_step();
}

// --- Between two steps ---------------------------------------------------------------------------

void Engine::take_arrivals() {
    const std::vector<workload::Request>& requests = m_workload.requests;
    bool any = false;
    while (m_next_arrival < requests.size() && requests[m_next_arrival].arrival <= now()) {
        const workload::Request& request = requests[m_next_arrival];
        if (blocks_at_end(request) > m_frames) {
            m_infeasible.push_back(m_next_arrival);
            ++m_metrics.infeasible;
            --m_unfinished;
        } else {
            m_arrived.push_back(m_next_arrival);
        }
        ++m_next_arrival;
        any = true;
    }
    if (!any) return;
    if (m_unfinished == 0) m_control->close();  // the last ones were infeasible
    m_samples.push_back(
        {now(), static_cast<std::uint32_t>(m_waiting.size() + m_arrived.size() - m_arrived_head)});
    if (m_next_arrival < requests.size()) {
        m_events.schedule(requests[m_next_arrival].arrival, Event::kArrival);
    }
}

void Engine::begin_step() {
    join_ready();
    reserve_decode_blocks();
    form_batch();
    if (m_load.tokens != 0) {
        start_compute();
    } else {
        note_stall();
    }
}

void Engine::join_ready() {
    std::size_t kept = 0;
    for (const std::uint32_t id : m_loading) {
        Sequence& sequence = m_sequences[id];
        if (!sequence.holding.ready()) {
            m_loading[kept++] = id;
            continue;
        }
        m_control->activate(sequence.holding);
        sequence.context = sequence.holding.reused * m_workload.tokens_per_block;
        if (measured(sequence.request)) {
            m_metrics.request_stall += now() - sequence.holding.frames_ready;
            m_metrics.frame_wait += sequence.holding.frames_ready - sequence.holding.decided;
        }
        m_running.push_back(id);
    }
    m_loading.resize(kept);
}

void Engine::reserve_decode_blocks() {
    for (std::size_t i = 0; i < m_running.size(); ++i) {
        Sequence& sequence = m_sequences[m_running[i]];
        sequence.chunk = 0;
        if (!sequence.decoding()) continue;
        // Growing may preempt from the end of the list, at worst this sequence.
        if (grow(sequence)) sequence.chunk = 1;
    }
}

bool Engine::grow(Sequence& sequence) {
    const std::uint32_t id = sequence.request;
    while (blocks_of(sequence.context + 1) > sequence.frames) {
        switch (m_control->grow(sequence.holding)) {
            case control::ControlPlane::Grown::kYes:
                ++sequence.frames;
                break;
            case control::ControlPlane::Grown::kLater:
                return false;
            case control::ControlPlane::Grown::kNoRoom: {
                const bool last = m_sequences[m_running.back()].request == id;
                preempt_last();
                if (last) return false;
                break;
            }
        }
    }
    return true;
}

void Engine::preempt_last() {
    const std::uint32_t id = m_running.back();
    m_running.pop_back();
    Sequence& sequence = m_sequences[id];
    m_control->release(sequence.holding);
    m_waiting.push_back(sequence.request);
    m_free.push_back(id);
    ++m_metrics.preemptions;
}

void Engine::form_batch() {
    m_load = {};
    std::uint64_t budget = m_config.tokens_per_step;
    for (const std::uint32_t id : m_running) {
        Sequence& sequence = m_sequences[id];
        if (sequence.chunk == 0 || budget == 0) {
            sequence.chunk = 0;
            continue;
        }
        m_load.add_decode(sequence.context + 1);
        --budget;
    }
    const auto add_chunk = [&](Sequence& sequence) {
        sequence.chunk = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(budget, sequence.prompt - sequence.context));
        if (sequence.chunk == 0) return;
        m_load.add_chunk(sequence.context, sequence.chunk);
        budget -= sequence.chunk;
    };
    for (const std::uint32_t id : m_running) {
        if (!m_sequences[id].decoding()) add_chunk(m_sequences[id]);
    }
    while (budget != 0) {
        const std::size_t before = m_running.size();
        admit();
        if (m_running.size() == before) break;
        add_chunk(m_sequences[m_running.back()]);
    }
}

void Engine::admit() {
    // Preempted requests come first, then arrivals; none passes another.
    while (!m_free.empty()) {
        const bool resumed = !m_waiting.empty();
        if (!resumed && m_arrived_head == m_arrived.size()) return;
        const std::size_t running = m_running.size();
        if (!try_admit(resumed ? m_waiting.back() : m_arrived[m_arrived_head])) return;
        if (resumed) {
            m_waiting.pop_back();
        } else {
            ++m_arrived_head;
        }
        if (m_running.size() != running) return;
    }
}

bool Engine::try_admit(std::uint32_t request_index) {
    const workload::Request& request = m_workload.requests[request_index];
    const std::uint32_t id = m_free.back();
    Sequence& sequence = m_sequences[id];
    sequence.request = request_index;
    sequence.prompt = request.input_tokens + m_requests[request_index].generated;
    sequence.context = 0;
    sequence.chunk = 0;
    const std::uint64_t prompt_blocks = blocks_of(sequence.prompt);
    const std::uint64_t all_blocks = blocks_at_end(request);
    control::Demand demand;
    demand.chain = m_workload.full_chain(request);
    // At least one token is computed, so that there is a next token.
    demand.reusable = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        demand.chain.size(), (sequence.prompt - 1) / m_workload.tokens_per_block));
    demand.prompt_blocks = prompt_blocks;
    demand.extra_blocks =
        m_config.reserve == Reserve::kFull ? all_blocks - std::min(all_blocks, prompt_blocks) : 0;
    demand.spare = m_running.empty() && m_loading.empty() ? 0 : m_spare;
    if (!m_control->admit(sequence.holding, demand)) return false;
    sequence.frames = prompt_blocks + demand.extra_blocks;
    m_free.pop_back();
    m_loading.push_back(id);
    if (sequence.holding.ready()) join_ready();
    return true;
}

// --- A step --------------------------------------------------------------------------------------

void Engine::start_compute() {
    if (m_stalled_since != Time::never()) {
        m_metrics.engine_stall += now() - m_stalled_since;
        m_stalled_since = Time::never();
    }
    if (m_check) {
        for (const std::uint32_t id : m_running) m_control->check_read_set(m_sequences[id].holding);
    }
    m_computing = true;
    const Time span = m_step_time.of(m_load);
    m_metrics.busy += span;
    m_metrics.compute += m_step_time.compute_of(m_load);
    ++m_metrics.steps;
    m_events.schedule(now() + span, Event::kStepEnd);
}

void Engine::note_stall() {
    // Waiting for frames is not waiting for data.
    bool loads = false;
    for (const std::uint32_t id : m_loading) {
        loads = loads || !m_sequences[id].holding.waits_for_frames;
    }
    m_stalled_since = loads ? std::min(m_stalled_since, now()) : Time::never();
}

void Engine::end_step() {
    m_computing = false;
    for (const std::uint32_t id : m_running) {
        if (m_sequences[id].chunk != 0) advance(m_sequences[id]);
    }
    count_reads();
    m_control->end_of_step();
    std::size_t kept = 0;
    for (const std::uint32_t id : m_running) {
        Sequence& sequence = m_sequences[id];
        const workload::Request& request = m_workload.requests[sequence.request];
        if (m_requests[sequence.request].generated == request.output_tokens) {
            finish(sequence);
            m_free.push_back(id);
        } else {
            m_running[kept++] = id;
        }
    }
    m_running.resize(kept);
    if (m_unfinished == 0) m_control->close();
}

void Engine::advance(Sequence& sequence) {
    const bool was_prefill = !sequence.decoding();
    sequence.context += sequence.chunk;
    if (was_prefill) {
        const auto full = static_cast<std::uint32_t>(std::min<std::uint64_t>(
            sequence.context / m_workload.tokens_per_block, sequence.holding.chain.size()));
        m_control->computed(sequence.holding, std::max(full, sequence.holding.computed));
    }
    if (sequence.decoding()) emit_token(sequence);
}

void Engine::emit_token(Sequence& sequence) {
    Progress& progress = m_requests[sequence.request];
    ++progress.generated;
    if (measured(sequence.request)) {
        ++m_metrics.output_tokens;
        if (progress.generated == 1) {
            m_metrics.ttft.add(now() - m_workload.requests[sequence.request].arrival);
        } else {
            m_metrics.itl.add(now() - progress.last_token);
        }
    }
    progress.last_token = now();
}

void Engine::count_reads() {
    std::uint64_t anonymous = 0;
    for (const std::uint32_t id : m_running) {
        const Sequence& sequence = m_sequences[id];
        const std::uint64_t in_use = blocks_of(sequence.context);
        anonymous += in_use - std::min<std::uint64_t>(in_use, sequence.holding.named_computed());
    }
    m_control->count_reads(anonymous);
}

void Engine::finish(Sequence& sequence) {
    m_ledger.produced_anonymous(blocks_of(sequence.context) - sequence.holding.chain.size());
    m_control->release(sequence.holding);
    if (measured(sequence.request)) ++m_metrics.requests;
    m_metrics.finished = now();
    --m_unfinished;
    const std::uint64_t total = m_workload.requests.size();
    const std::uint64_t finished = total - m_unfinished;
    if (m_progress != nullptr && (finished % kProgressEvery == 0 || m_unfinished == 0)) {
        m_progress->progress(finished, total, now());
    }
}

}  // namespace kvplane::serving
