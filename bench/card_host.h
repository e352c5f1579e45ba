// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <functional>
#include <systemc>
#include <vector>

#include "model/engine/dma_if.h"
#include "model/engine/intent.h"
#include "model/management/queue_registers.h"
#include "model/memory/sparse_store.h"

namespace kvplane::bench {

/// The least host that keeps a card busy: one ring, one gather list.
class CardHost final : public sc_core::sc_module, public engine::DmaTargetIf {
public:
    static constexpr std::uint32_t kEntries = 1024;
    static constexpr std::uint64_t kCompletions = 1 << 20;
    static constexpr std::uint64_t kList = 1 << 21;
    /// Places of gather lists: more than intents are in flight.
    static constexpr std::uint64_t kLists = 256;
    static constexpr std::uint64_t kListBytes = 4096;

    explicit CardHost(sc_core::sc_module_name name) : sc_module(name) {}

    tlm_utils::simple_initiator_socket<CardHost> mmio{"mmio"};
    std::uint64_t completions = 0;
    std::function<void()> on_completion;

    void write_register(std::uint64_t offset, std::uint64_t value) {
        tlm::tlm_generic_payload payload;
        payload.set_command(tlm::TLM_WRITE_COMMAND);
        payload.set_address(offset);
        payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
        payload.set_data_length(sizeof(value));
        payload.set_streaming_width(sizeof(value));
        sc_core::sc_time delay;
        mmio->b_transport(payload, delay);
    }

    void submit(engine::Opcode opcode, const std::vector<engine::GatherEntry>& run) {
        const std::uint64_t list = kList + m_lists++ % kLists * kListBytes;
        m_memory.write(list, bytes(run.data(), run.size()));
        engine::Intent intent{.opcode = static_cast<std::uint8_t>(opcode),
                              .flags = engine::kGatherList,
                              .transfer_class = 1,
                              .count = static_cast<std::uint16_t>(run.size()),
                              .target = engine::make_target(0, list),
                              .length_4k = run.front().length()};
        if (m_odd_pass) intent.flags |= engine::kOddPass;
        intent.crc = engine::intent_crc(intent);
        m_memory.write(m_tail * sizeof(intent), bytes(&intent, 1));
        m_tail = (m_tail + 1) % kEntries;
        if (m_tail == 0) m_odd_pass = !m_odd_pass;
        write_register(management::queue_register(0, management::QueueRegister::kSubmissionTail),
                       m_tail);
    }

    void read_host(Hpa address, std::span<std::uint8_t> data) override {
        m_memory.read(address.value, data);
    }
    void write_host(Hpa, std::span<const std::uint8_t>) override {
        ++completions;
        if (on_completion) on_completion();
        write_register(management::queue_register(0, management::QueueRegister::kCompletionHead),
                       completions % kEntries);
    }
    bool write_device(Hpa, Bytes, std::span<const std::uint8_t>) override { return true; }
    bool read_device(Hpa, Bytes, std::span<std::uint8_t>) override { return true; }

private:
    template <class T>
    static std::span<const std::uint8_t> bytes(const T* first, std::size_t count) {
        return {reinterpret_cast<const std::uint8_t*>(first), count * sizeof(T)};
    }
    void end_of_elaboration() override {
        using enum management::QueueRegister;
        using enum management::WindowRegister;
        write_register(management::kCommandRegister, management::kBusMasterEnable);
        write_register(management::window_register(0, 0, kSlots), 4096);
        write_register(management::window_register(0, 0, kStride), Bytes::from_mib(5).count);
        write_register(management::queue_register(0, kRegionSize), std::uint64_t{1} << 32);
        write_register(management::queue_register(0, kSubmissionBase), 0);
        write_register(management::queue_register(0, kCompletionBase), kCompletions);
        write_register(management::queue_register(0, management::QueueRegister::kEntries),
                       std::uint64_t{CardHost::kEntries});
        write_register(management::queue_register(0, kEnable), 1);
    }

    memory::SparseStore m_memory;
    std::uint64_t m_lists = 0;
    std::uint32_t m_tail = 0;
    bool m_odd_pass = false;
};

}  // namespace kvplane::bench
