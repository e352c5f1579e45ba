// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <gtest/gtest.h>

#include <cstring>

#include "model/block/key.h"
#include "model/common/random.h"
#include "tests/support/tlm_pool.h"

namespace kvplane::card {
namespace {

using engine::CompletionEntry;
using engine::GatherEntry;
using engine::Intent;
using management::QueueRegister;

constexpr std::uint64_t kSubmissions = std::uint64_t{1} << 32;
constexpr std::uint64_t kCompletions = std::uint64_t{2} << 32;
constexpr std::uint64_t kLists = std::uint64_t{3} << 32;
constexpr std::uint64_t kRing = std::uint64_t{1} << 24;

template <class T>
std::span<std::uint8_t> as_bytes(T* first, std::size_t count) {
    return {reinterpret_cast<std::uint8_t*>(first), count * sizeof(T)};
}

}  // namespace

Host::Host(sc_core::sc_module_name name, Bytes block, std::uint32_t ring_entries)
    : sc_module(name), m_block(block), m_entries(ring_entries), m_next_list(kLists) {}

void Host::end_of_elaboration() {
    set_up();
    bulk->open_bulk(engine::BulkDirection::kRead, {UINT64_MAX}, *this);
    bulk->open_bulk(engine::BulkDirection::kWrite, {UINT64_MAX}, *this);
}

void Host::set_up(management::QueuePlace place, std::uint16_t tenant) {
    m_place = place;
    m_ring_memory = read_register(management::kRingMemoryRegister);
    m_rings = {};
    m_generation = static_cast<std::uint8_t>(read_register(8));
    EXPECT_TRUE(write_register(management::kCommandRegister, management::kBusMasterEnable));
    for (std::uint32_t q = 0; q < kQueues; ++q) {
        const auto window = [&](management::WindowRegister which, std::uint64_t value) {
            EXPECT_TRUE(write_register(management::window_register(q, kWindow, which), value));
        };
        window(management::WindowRegister::kBase, kDevice);
        window(management::WindowRegister::kStride, m_block.count);
        window(management::WindowRegister::kSlots, kSlots);
        const auto set = [&](QueueRegister which, std::uint64_t value) {
            EXPECT_TRUE(write_register(management::queue_register(q, which), value));
        };
        set(QueueRegister::kSubmissionBase, submissions(q));
        set(QueueRegister::kPlace, static_cast<std::uint64_t>(place));
        set(QueueRegister::kCompletionBase, kCompletions + q * kRing);
        set(QueueRegister::kEntries, m_entries);
        set(QueueRegister::kTenant, tenant);
        set(QueueRegister::kRegionBase, kLists);
        set(QueueRegister::kRegionSize, kDevice - kLists);
        set(QueueRegister::kEnable, 1);
        // Old descriptors and completions must not look new.
        const std::vector<std::uint8_t> unwritten(m_entries * sizeof(Intent));
        if (place == management::QueuePlace::kHostMemory) {
            m_memory.write(submissions(q), unwritten);
        }
        const std::vector<std::uint8_t> empty(m_entries * sizeof(CompletionEntry));
        m_memory.write(kCompletions + q * kRing, empty);
    }
}

std::uint64_t Host::submissions(std::uint32_t queue) const {
    return m_place == management::QueuePlace::kHdm
               ? m_ring_memory + queue * m_entries * sizeof(Intent)
               : kSubmissions + queue * kRing;
}

std::uint64_t Host::read_register(std::uint64_t offset) {
    std::uint64_t value = 0;
    EXPECT_TRUE(access_register(tlm::TLM_READ_COMMAND, offset, value));
    return value;
}

bool Host::write_register(std::uint64_t offset, std::uint64_t value) {
    return access_register(tlm::TLM_WRITE_COMMAND, offset, value);
}

bool Host::access_register(tlm::tlm_command command, std::uint64_t offset, std::uint64_t& value) {
    tlm::tlm_generic_payload payload;
    test::set_up(payload, command, offset, &value, sizeof(value));
    sc_core::sc_time delay;
    mmio->b_transport(payload, delay);
    return payload.is_response_ok();
}

Intent Host::intent(engine::Opcode opcode, const block::BlockKey& key, std::uint32_t slot) const {
    const bool demotion = opcode == engine::Opcode::kDemote;
    return {.opcode = static_cast<std::uint8_t>(opcode),
            .transfer_class = static_cast<std::uint8_t>(demotion ? engine::TransferClass::kDemotion
                                                                 : engine::TransferClass::kDemand),
            .key_low = key.low,
            .key_high = key.high,
            .target = engine::make_target(kWindow, slot),
            .length_4k = engine::granules(m_block),
            .boot_generation = m_generation};
}

Intent Host::run(engine::Opcode opcode, const std::vector<block::BlockKey>& keys,
                 std::uint32_t first_slot, std::uint32_t longer_last_block,
                 std::uint32_t granules) {
    if (granules == 0) granules = engine::granules(m_block);
    std::vector<GatherEntry> list;
    for (const block::BlockKey& key : keys) {
        list.push_back(engine::make_gather_entry(
            key, first_slot + static_cast<std::uint32_t>(list.size()), granules));
    }
    list.back().length_4k[0] += static_cast<std::uint8_t>(longer_last_block);
    m_memory.write(m_next_list, as_bytes(list.data(), list.size()));
    Intent made = intent(opcode, {});
    made.flags = engine::kGatherList;
    made.length_4k = granules;
    made.count = static_cast<std::uint16_t>(keys.size());
    made.target = engine::make_target(kWindow, m_next_list);
    m_next_list += list.size() * sizeof(GatherEntry);
    return made;
}

void Host::add_window(std::uint32_t queue, std::uint16_t window, Bytes stride, std::uint64_t offset,
                      std::uint64_t flags) {
    using management::WindowRegister;
    const auto set = [&](WindowRegister which, std::uint64_t value) {
        EXPECT_TRUE(write_register(management::window_register(queue, window, which), value));
    };
    set(WindowRegister::kBase, kDevice + offset);
    set(WindowRegister::kStride, stride.count);
    set(WindowRegister::kFlags, flags == 0 ? 0 : kDevice + flags);
    set(WindowRegister::kSlots, kSlots);
}

Intent through(std::uint16_t window, Intent intent) {
    intent.target = engine::make_target(window, intent.target & ((std::uint64_t{1} << 48) - 1));
    return intent;
}

std::uint32_t Host::submit(Intent made, std::uint32_t queue, bool sign) {
    const std::uint32_t id = write_descriptor(made, queue, sign);
    if (m_place != management::QueuePlace::kPortal) ring(queue);
    return id;
}

std::uint32_t Host::write_descriptor(Intent made, std::uint32_t queue, bool sign) {
    Ring& ring = m_rings.at(queue);
    made.id = m_next_id++;
    if (ring.odd_pass) made.flags |= engine::kOddPass;
    if (sign) made.crc = engine::intent_crc(made);
    const std::uint64_t address = submissions(queue) + ring.tail * sizeof(Intent);
    tlm::tlm_generic_payload payload;
    sc_core::sc_time delay;
    switch (m_place) {
        case management::QueuePlace::kHostMemory:
            m_memory.write(address, as_bytes(&made, 1));
            break;
        case management::QueuePlace::kHdm:
            EXPECT_EQ(access(tlm::TLM_WRITE_COMMAND, address, as_bytes(&made, 1), delay),
                      tlm::TLM_OK_RESPONSE);
            break;
        case management::QueuePlace::kPortal:
            test::set_up(payload, tlm::TLM_WRITE_COMMAND, management::portal_of(queue), &made,
                         sizeof(made));
            mmio->b_transport(payload, delay);
            EXPECT_TRUE(payload.is_response_ok());
            break;
    }
    skip_descriptor(queue);
    return made.id;
}

void Host::skip_descriptor(std::uint32_t queue) {
    Ring& ring = m_rings.at(queue);
    ring.tail = (ring.tail + 1) % m_entries;
    if (ring.tail == 0) ring.odd_pass = !ring.odd_pass;
}

void Host::write_late(std::uint32_t queue) {
    const Ring& ring = m_rings.at(queue);
    const std::uint32_t place = (ring.tail + m_entries - 1) % m_entries;
    Intent late;
    if (ring.odd_pass != (ring.tail == 0)) late.flags = engine::kOddPass;
    m_memory.write(submissions(queue) + place * sizeof(Intent), as_bytes(&late, 1));
}

void Host::ring(std::uint32_t queue) {
    EXPECT_TRUE(write_register(management::queue_register(queue, QueueRegister::kSubmissionTail),
                               m_rings.at(queue).tail));
}

Intent Host::policy_run(const std::vector<index::PolicyChange>& changes) {
    std::vector<index::PolicyChange> list = changes;
    m_memory.write(m_next_list, as_bytes(list.data(), list.size()));
    Intent made = intent(engine::Opcode::kUpdatePolicy, {});
    made.flags = engine::kGatherList;
    made.count = static_cast<std::uint16_t>(list.size());
    made.target = m_next_list;
    m_next_list += list.size() * sizeof(index::PolicyChange);
    return made;
}

std::vector<std::uint8_t> Host::device(std::uint64_t offset, Bytes size) const {
    std::vector<std::uint8_t> data(size.count);
    m_window.read(offset, data);
    return data;
}

tlm::tlm_response_status Host::access(tlm::tlm_command command, std::uint64_t address,
                                      std::span<std::uint8_t> data, sc_core::sc_time& delay) {
    tlm::tlm_generic_payload payload;
    test::set_up(payload, command, address, data.data(), data.size());
    mem->b_transport(payload, delay);
    return payload.get_response_status();
}

void Host::fill_slot(std::uint32_t slot, std::span<const std::uint8_t> data) {
    m_window.write(slot * m_block.count, data);
}

std::vector<std::uint8_t> Host::slot(std::uint32_t slot) const {
    std::vector<std::uint8_t> data(m_block.count);
    m_window.read(slot * m_block.count, data);
    return data;
}

void Host::read_host(Hpa address, std::span<std::uint8_t> data) {
    m_memory.read(address.value, data);
}

void Host::write_host(Hpa address, std::span<const std::uint8_t> data) {
    m_memory.write(address.value, data);
    read_completions(static_cast<std::uint32_t>((address.value - kCompletions) / kRing));
}

void Host::read_completions(std::uint32_t queue) {
    Ring& ring = m_rings.at(queue);
    for (;;) {
        CompletionEntry entry;
        m_memory.read(kCompletions + queue * kRing + ring.head * sizeof(entry),
                      as_bytes(&entry, 1));
        if (((entry.phase_and_flags & engine::kPhase) != 0) != ring.phase) break;
        EXPECT_EQ(entry.queue, queue);
        done.push_back(
            {entry.id, static_cast<engine::Status>(entry.status), entry.argument, now(), queue});
        ring.head = (ring.head + 1) % m_entries;
        if (ring.head == 0) ring.phase = !ring.phase;
    }
    EXPECT_TRUE(write_register(management::queue_register(queue, QueueRegister::kCompletionHead),
                               ring.head));
}

bool Host::write_device(Hpa address, Bytes size, std::span<const std::uint8_t> data) {
    const std::uint64_t offset = address.value - kDevice;
    EXPECT_LE(offset + size.count, kDeviceSize);
    if (refuses(offset)) return false;
    arrivals.emplace_back(now(), offset);
    m_window.write(offset, data);
    return true;
}

bool Host::read_device(Hpa address, Bytes size, std::span<std::uint8_t> data) {
    const std::uint64_t offset = address.value - kDevice;
    EXPECT_LE(offset + size.count, kDeviceSize);
    if (refuses(offset)) return false;
    m_window.read(offset, data);
    return true;
}

Bench::Bench(const CardConfig& config, Bytes block, const std::string& name,
             std::uint32_t ring_entries)
    : m_config(config),
      books(config.tier_capacity),
      index(config.index),
      card((name + "_card").c_str(), config, block, index),
      host((name + "_host").c_str(), block, ring_entries),
      management((name + "_firmware").c_str()) {
    management.socket.bind(card.management.socket);
    host.mmio.bind(card.mmio);
    host.mem.bind(card.mem.socket);
    host.bulk.bind(card.bulk);
    card.dma.bind(host);
    card.data_plane().observe(host);
    card.data_plane().observe(static_cast<engine::JobObserver&>(books));
    card.data_plane().tier().observe(books);
    map();
}

void Bench::map() { card.map_whole(); }

void Bench::drain() {
    if (sc_core::sc_get_status() == sc_core::SC_ELABORATION) sc_core::sc_start(1, sc_core::SC_NS);
    if (sc_core::sc_pending_activity()) sc_core::sc_start();
}

Done Bench::finish(const engine::Intent& intent, std::uint32_t queue) {
    drain();
    const std::size_t before = host.done.size();
    const std::uint32_t id = host.submit(intent, queue);
    drain();
    EXPECT_EQ(host.done.size(), before + 1);
    EXPECT_EQ(host.done.back().id, id);
    return host.done.back();
}

void Bench::load(const std::vector<block::BlockKey>& keys) {
    const Done loaded = finish(host.run(engine::Opcode::kDemote, keys), 1);
    EXPECT_EQ(loaded.status, engine::Status::kOk);
    EXPECT_EQ(loaded.argument, keys.size());
}

block::BlockKey key_of(std::uint64_t n) {
    return block::make_key(block::extend({}, n), {.first_layer = 0, .last_layer = 79}, 0);
}

std::vector<block::BlockKey> keys_of(std::uint64_t first, std::uint64_t count) {
    std::vector<block::BlockKey> keys;
    for (std::uint64_t i = 0; i < count; ++i) keys.push_back(key_of(first + i));
    return keys;
}

std::vector<std::uint8_t> pattern(std::uint64_t seed, Bytes size) {
    RandomStream random(seed, "pattern");
    std::vector<std::uint8_t> data(size.count);
    for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(random.bits());
    return data;
}

CardConfig baseline(std::uint32_t width) {
    CardConfig config;
    config.link.width = width;
    config.dram.channels = width / 4;
    return config;
}

}  // namespace kvplane::card
