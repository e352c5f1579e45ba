// SPDX-License-Identifier: Apache-2.0
#include "host_driver/driver/card_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/common/errors.h"
#include "model/management/queue_registers.h"

namespace kvplane::driver {
namespace {

using engine::CompletionEntry;
using engine::GatherEntry;
using engine::Intent;
using management::QueueRegister;

// Host memory as the card sees it: rings, then a place for each ticket's gather list.
constexpr std::uint64_t kRingStride = std::uint64_t{1} << 24;
constexpr std::uint64_t kSubmissionRings = std::uint64_t{1} << 32;
constexpr std::uint64_t kCompletionRings = std::uint64_t{2} << 32;
constexpr std::uint64_t kLists = std::uint64_t{1} << 40;
constexpr std::uint64_t kListsEnd = std::uint64_t{1} << 46;
constexpr std::uint64_t kHbm = kListsEnd;                      // slots of the GPU's window
constexpr std::uint64_t kListStride = std::uint64_t{1} << 21;  // 65,535 x 24 B fit
static_assert(kLongestRun * sizeof(GatherEntry) <= kListStride);

std::uint32_t slot_at(Hpa address, Bytes block) {
    return static_cast<std::uint32_t>((address.value - kHbm) / block.count);
}

management::QueuePlace place_of(QueuePlace place) {
    switch (place) {
        case QueuePlace::kHostMemory:
            return management::QueuePlace::kHostMemory;
        case QueuePlace::kHdm:
            return management::QueuePlace::kHdm;
        case QueuePlace::kPortal:
            return management::QueuePlace::kPortal;
    }
    throw InvariantError("unknown place of a queue");
}

void set_up(tlm::tlm_generic_payload& payload, tlm::tlm_command command, std::uint64_t address,
            void* data, std::uint32_t length) {
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(static_cast<unsigned char*>(data));
    payload.set_data_length(length);
    payload.set_streaming_width(length);
    payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
}

std::uint8_t opcode(MoveKind kind) {
    switch (kind) {
        case MoveKind::kPromote:
            return static_cast<std::uint8_t>(engine::Opcode::kPromote);
        case MoveKind::kPrefetch:
            return static_cast<std::uint8_t>(engine::Opcode::kPrefetch);
        case MoveKind::kDemote:
            return static_cast<std::uint8_t>(engine::Opcode::kDemote);
        case MoveKind::kDiscard:
            return static_cast<std::uint8_t>(engine::Opcode::kDiscard);
    }
    throw InvariantError("unknown kind of move");
}

std::uint8_t transfer_class(MoveKind kind) {
    switch (kind) {
        case MoveKind::kPromote:
            return static_cast<std::uint8_t>(engine::TransferClass::kDemand);
        case MoveKind::kPrefetch:
            return static_cast<std::uint8_t>(engine::TransferClass::kPrefetch);
        case MoveKind::kDemote:
        case MoveKind::kDiscard:
            return static_cast<std::uint8_t>(engine::TransferClass::kDemotion);
    }
    throw InvariantError("unknown kind of move");
}

std::uint16_t queue_of(MoveKind kind) {
    switch (kind) {
        case MoveKind::kPromote:
            return 0;
        case MoveKind::kDemote:
        case MoveKind::kDiscard:
            return 1;
        case MoveKind::kPrefetch:
            return 2;
    }
    throw InvariantError("unknown kind of move");
}

}  // namespace

CardDriver::CardDriver(sc_core::sc_module_name name, const DriverConfig& config, gpu::HbmPool& hbm,
                       MoveMetrics& metrics)
    : sc_module(name), m_config(config), m_hbm(hbm), m_metrics(metrics), m_events("events") {
    for (Queue& queue : m_queues) {
        queue.submissions.resize(config.ring_entries);
        queue.completions.resize(config.ring_entries);
    }
    SC_HAS_PROCESS(CardDriver);
    SC_METHOD(run);
    sensitive << m_events.event();
    dont_initialize();
}

void CardDriver::end_of_elaboration() {
    m_boot_generation = static_cast<std::uint8_t>(
        access_register(tlm::TLM_READ_COMMAND, management::kBootGenerationRegister, 0));
    m_ring_memory = access_register(tlm::TLM_READ_COMMAND, management::kRingMemoryRegister, 0);
    for (std::uint32_t q = 0; q < kQueues; ++q) set_up_queue(q);
    write_register(management::kCommandRegister, management::kBusMasterEnable);
}

std::uint64_t CardDriver::ring_base(std::uint32_t queue) const {
    return m_config.queue == QueuePlace::kHdm
               ? m_ring_memory + queue * m_config.ring_entries * sizeof(Intent)
               : kSubmissionRings + queue * kRingStride;
}

void CardDriver::set_up_queue(std::uint32_t q) {
    const auto set = [&](QueueRegister which, std::uint64_t value) {
        write_register(management::queue_register(q, which), value);
    };
    const auto window = [&](management::WindowRegister which, std::uint64_t value) {
        write_register(management::window_register(q, kHbmWindow, which), value);
    };
    set(QueueRegister::kSubmissionBase, ring_base(q));
    set(QueueRegister::kCompletionBase, kCompletionRings + q * kRingStride);
    set(QueueRegister::kEntries, m_config.ring_entries);
    set(QueueRegister::kPlace, static_cast<std::uint64_t>(place_of(m_config.queue)));
    set(QueueRegister::kTenant, management::kAnyTenant);
    set(QueueRegister::kRegionBase, kLists);
    set(QueueRegister::kRegionSize, kListsEnd - kLists);
    window(management::WindowRegister::kBase, kHbm);
    window(management::WindowRegister::kStride, m_hbm.block().count);
    window(management::WindowRegister::kSlots, m_hbm.frames());
    set(QueueRegister::kEnable, 1);
}

std::uint64_t CardDriver::access_register(tlm::tlm_command command, std::uint64_t offset,
                                          std::uint64_t value) {
    tlm::tlm_generic_payload payload;
    set_up(payload, command, offset, &value, sizeof(value));
    sc_core::sc_time delay;
    mmio->b_transport(payload, delay);
    if (payload.is_response_error()) {
        throw InvariantError(
            fmt::format("the card refused {:#x} for register {:#x}", value, offset));
    }
    return value;
}

std::uint32_t CardDriver::take_ticket() {
    if (m_free_tickets.empty()) {
        m_tickets.emplace_back();
        return static_cast<std::uint32_t>(m_tickets.size() - 1);
    }
    const std::uint32_t ticket = m_free_tickets.back();
    m_free_tickets.pop_back();
    return ticket;
}

void CardDriver::submit(const MoveRun& run) {
    const std::uint32_t id = take_ticket();
    Ticket& ticket = m_tickets[id];
    ticket.token = run.token;
    ticket.queue = queue_of(run.kind);
    ticket.decided = run.decided;
    ticket.frames_ready = run.frames_ready;
    const std::uint32_t length_4k = engine::granules(m_hbm.block());
    ticket.list.clear();
    for (const Move& move : run.moves) {
        ticket.list.push_back(engine::make_gather_entry(move.key, move.slot, length_4k));
    }
    const bool list = run.moves.size() > 1;
    const std::uint64_t low = list ? kLists + id * kListStride : run.moves[0].slot;
    ticket.intent = {.opcode = opcode(run.kind),
                     .flags = list ? engine::kGatherList : std::uint8_t{0},
                     .transfer_class = transfer_class(run.kind),
                     .tenant = run.tenant,
                     .count = static_cast<std::uint16_t>(run.moves.size()),
                     .id = id,
                     .key_low = list ? 0 : run.moves[0].key.low,
                     .key_high = list ? 0 : run.moves[0].key.high,
                     .deadline_ns = static_cast<std::uint64_t>(run.deadline.ps / 1000),
                     .target = engine::make_target(kHbmWindow, low),
                     .length_4k = length_4k,
                     .boot_generation = m_boot_generation};
    Queue& queue = m_queues[ticket.queue];
    if (queue.outstanding + 1 == m_config.ring_entries) {
        queue.backlog.push_back(id);
    } else {
        post(id);
    }
}

void CardDriver::post(std::uint32_t id) {
    const Ticket& ticket = m_tickets[id];
    Queue& queue = m_queues[ticket.queue];
    const std::uint32_t place = queue.tail;
    Intent& intent = queue.submissions[place];
    intent = ticket.intent;
    if (queue.odd_pass) intent.flags |= engine::kOddPass;
    intent.crc = engine::intent_crc(intent);
    if (m_observer != nullptr) {
        const bool list = (intent.flags & engine::kGatherList) != 0;
        m_observer->posted(
            ticket.queue, intent,
            std::span<const GatherEntry>(ticket.list).first(list ? intent.count : 0));
    }
    queue.tail = (queue.tail + 1) % m_config.ring_entries;
    if (queue.tail == 0) queue.odd_pass = !queue.odd_pass;
    ++queue.outstanding;
    m_cpu_free_at = std::max(m_cpu_free_at, now()) + m_config.submit;
    m_events.schedule(m_cpu_free_at + write_descriptor(ticket.queue, place),
                      {Event::Kind::kDoorbell, ticket.queue, queue.tail});
}

/// Until the descriptor is where the card reads it. CXL.mem writes are answered, and a doorbell
/// that does not wait for that may overtake them.
Time CardDriver::write_descriptor(std::uint32_t queue, std::uint32_t place) {
    if (m_config.queue != QueuePlace::kHdm) return {};
    Intent& intent = m_queues[queue].submissions[place];
    tlm::tlm_generic_payload payload;
    set_up(payload, tlm::TLM_WRITE_COMMAND, ring_base(queue) + place * sizeof(intent), &intent,
           sizeof(intent));
    sc_core::sc_time delay = to_sc_time(m_cpu_free_at - now());
    const Time sent = from_sc_time(delay);
    mem->b_transport(payload, delay);
    if (payload.is_response_error()) {
        throw InvariantError("the card refused a descriptor over CXL.mem");
    }
    return from_sc_time(delay) - sent;
}

void CardDriver::run() {
    Event event;
    while (m_events.pop_due(event)) {
        if (event.kind == Event::Kind::kPoll) {
            poll(event.queue);
        } else {
            ring(event.queue, event.tail);
        }
    }
}

void CardDriver::ring(std::uint32_t index, std::uint32_t tail) {
    if (m_observer != nullptr) m_observer->rung(static_cast<std::uint16_t>(index), tail);
    if (m_config.queue != QueuePlace::kPortal) {
        write_register(management::queue_register(index, QueueRegister::kSubmissionTail), tail);
        return;
    }
    const std::uint32_t place = (tail + m_config.ring_entries - 1) % m_config.ring_entries;
    tlm::tlm_generic_payload payload;
    set_up(payload, tlm::TLM_WRITE_COMMAND, management::portal_of(index),
           &m_queues[index].submissions[place], sizeof(Intent));
    sc_core::sc_time delay;
    mmio->b_transport(payload, delay);
    if (payload.is_response_error()) throw InvariantError("the card refused a portal write");
}

void CardDriver::poll(std::uint32_t index) {
    Queue& queue = m_queues[index];
    bool consumed = false;
    for (;;) {
        const CompletionEntry entry = queue.completions[queue.head];
        if (((entry.phase_and_flags & engine::kPhase) != 0) != queue.phase) break;
        queue.head = (queue.head + 1) % m_config.ring_entries;
        if (queue.head == 0) queue.phase = !queue.phase;
        consumed = true;
        --queue.outstanding;
        if (queue.backlog_head < queue.backlog.size()) {
            post(queue.backlog[queue.backlog_head++]);
            if (queue.backlog_head == queue.backlog.size()) {
                queue.backlog.clear();
                queue.backlog_head = 0;
            }
        }
        if (m_observer != nullptr) m_observer->completed(static_cast<std::uint16_t>(index), entry);
        const std::uint32_t token = m_tickets[entry.id].token;
        m_free_tickets.push_back(entry.id);
        m_client->run_done(token, static_cast<engine::Status>(entry.status), entry.argument);
    }
    if (consumed) {
        write_register(management::queue_register(index, QueueRegister::kCompletionHead),
                       queue.head);
    }
}

void CardDriver::read_host(Hpa address, std::span<std::uint8_t> data) {
    const std::uint8_t* source = nullptr;
    if (address.value >= kLists) {
        const std::vector<GatherEntry>& list =
            m_tickets.at((address.value - kLists) / kListStride).list;
        if (data.size() > list.size() * sizeof(GatherEntry)) {
            throw InvariantError("the card read past a gather list");
        }
        source = reinterpret_cast<const std::uint8_t*>(list.data());
    } else {
        const std::uint64_t offset = address.value - kSubmissionRings;
        const Queue& queue = m_queues.at(offset / kRingStride);
        source = reinterpret_cast<const std::uint8_t*>(
            &queue.submissions.at(offset % kRingStride / sizeof(Intent)));
    }
    std::memcpy(data.data(), source, data.size());
}

void CardDriver::write_host(Hpa address, std::span<const std::uint8_t> data) {
    const std::uint64_t offset = address.value - kCompletionRings;
    const auto index = static_cast<std::uint32_t>(offset / kRingStride);
    CompletionEntry& entry =
        m_queues.at(index).completions.at(offset % kRingStride / sizeof(CompletionEntry));
    std::memcpy(&entry, data.data(), std::min(data.size(), sizeof(entry)));
    m_events.schedule(now() + Time{m_config.poll_interval.ps / 2}, {Event::Kind::kPoll, index});
}

bool CardDriver::write_device(Hpa address, Bytes size, std::span<const std::uint8_t> data) {
    m_hbm.write(slot_at(address, m_hbm.block()), size, data);
    return true;
}

bool CardDriver::read_device(Hpa address, Bytes size, std::span<std::uint8_t> data) {
    m_hbm.read(slot_at(address, m_hbm.block()), size, data);
    return true;
}

engine::StageTimes CardDriver::whole_way(const engine::BlockMove& move,
                                         const Ticket& ticket) const {
    engine::StageTimes stages = move.stages;
    stages[engine::Stage::kFrameWait] = ticket.frames_ready - ticket.decided;
    stages[engine::Stage::kSubmit] = move.arrived - ticket.frames_ready;
    stages[engine::Stage::kComplete] += Time{m_config.poll_interval.ps / 2};
    return stages;
}

void CardDriver::block_promoted(const engine::BlockMove& move) {
    Ticket& ticket = m_tickets[move.intent];
    const engine::StageTimes stages = whole_way(move, ticket);
    m_metrics.promoted(stages, move.bytes);
    const Time latency = stages.total();
    if (move.block == 0) ticket.first_block = latency;
    if (move.block + 1U == ticket.intent.count) {
        m_metrics.load(ticket.first_block, latency, move.bytes * ticket.intent.count);
    }
}

void CardDriver::block_demoted(const engine::BlockMove& move) {
    m_metrics.demoted(whole_way(move, m_tickets[move.intent]), move.bytes);
}

}  // namespace kvplane::driver
