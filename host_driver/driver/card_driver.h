// SPDX-License-Identifier: Apache-2.0
/// Moves by intents: the card orders and pushes. Builds descriptors and gather lists in host
/// memory, rings doorbells, and polls completions.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <systemc>
#include <tlm>
#include <vector>

#include "host_driver/driver/config.h"
#include "host_driver/driver/driver.h"
#include "host_driver/driver/move_metrics.h"
#include "host_driver/driver/queue_observer.h"
#include "host_driver/gpu/hbm_pool.h"
#include "model/common/event_heap.h"
#include "model/engine/allocator.h"
#include "model/engine/dma_if.h"
#include "model/engine/move_observer.h"

namespace kvplane::driver {

/// Queue pair 0 takes promotions; queue pair 1 discards and demotions, in order; queue pair 2
/// prefetches, so that their backlog holds up no doorbell of the others.
class CardDriver final : public sc_core::sc_module,
                         public Driver,
                         public engine::DmaTargetIf,
                         public engine::MoveObserver {
    static constexpr std::uint32_t kQueues = 3;

public:
    CardDriver(sc_core::sc_module_name name, const DriverConfig& config, gpu::HbmPool& hbm,
               MoveMetrics& metrics);

    /// The card's registers.
    tlm_utils::simple_initiator_socket<CardDriver> mmio{"mmio"};
    /// CXL.mem, host address = device address; needed for QueuePlace::kHdm alone.
    tlm_utils::simple_initiator_socket_optional<CardDriver> mem{"mem"};

    /// What its rings take of the card's memory with QueuePlace::kHdm.
    [[nodiscard]] static Bytes ring_memory(const DriverConfig& config) {
        return Bytes{sizeof(engine::Intent)} * kQueues * config.ring_entries;
    }

    /// Optional; set before the first run. It must outlive this.
    void observe(QueueObserver& observer) { m_observer = &observer; }

    void set_client(MoveClient& client) override { m_client = &client; }
    void submit(const MoveRun& run) override;

    // The card's DMA.
    void read_host(Hpa address, std::span<std::uint8_t> data) override;
    void write_host(Hpa address, std::span<const std::uint8_t> data) override;
    bool write_device(Hpa address, Bytes size, std::span<const std::uint8_t> data) override;
    bool read_device(Hpa address, Bytes size, std::span<std::uint8_t> data) override;

    void block_promoted(const engine::BlockMove& move) override;
    void block_demoted(const engine::BlockMove& move) override;

private:
    static constexpr std::uint16_t kHbmWindow = 0;

    /// An intent that the card has not completed. Its id is its index.
    struct Ticket {
        std::uint32_t token = 0;
        std::uint16_t queue = 0;
        Time decided;
        Time frames_ready;
        Time first_block;
        engine::Intent intent;
        std::vector<engine::GatherEntry> list;
    };
    struct Queue {
        std::vector<engine::Intent> submissions;
        std::vector<engine::CompletionEntry> completions;
        std::uint32_t tail = 0;
        std::uint32_t head = 0;  ///< of completions
        std::uint32_t outstanding = 0;
        bool phase = true;
        bool odd_pass = false;  ///< of submissions
        std::vector<std::uint32_t>
            backlog;  ///< tickets that found the ring full, from backlog_head
        std::size_t backlog_head = 0;
    };
    struct Event {
        enum class Kind : std::uint8_t { kDoorbell, kPoll } kind = Kind::kPoll;
        std::uint32_t queue = 0;
        std::uint32_t tail = 0;  ///< after the descriptor that the doorbell is for
    };

    void end_of_elaboration() override;
    void run();
    void poll(std::uint32_t queue);
    void post(std::uint32_t ticket);
    void ring(std::uint32_t queue, std::uint32_t tail);
    void set_up_queue(std::uint32_t queue);
    [[nodiscard]] std::uint64_t ring_base(std::uint32_t queue) const;
    [[nodiscard]] Time write_descriptor(std::uint32_t queue, std::uint32_t place);
    std::uint64_t access_register(tlm::tlm_command command, std::uint64_t offset,
                                  std::uint64_t value);
    void write_register(std::uint64_t offset, std::uint64_t value) {
        (void)access_register(tlm::TLM_WRITE_COMMAND, offset, value);
    }
    [[nodiscard]] std::uint32_t take_ticket();
    [[nodiscard]] engine::StageTimes whole_way(const engine::BlockMove& move,
                                               const Ticket& ticket) const;

    DriverConfig m_config;
    gpu::HbmPool& m_hbm;
    MoveMetrics& m_metrics;
    MoveClient* m_client = nullptr;
    std::array<Queue, kQueues> m_queues;
    std::vector<Ticket> m_tickets;
    std::vector<std::uint32_t> m_free_tickets;
    EventHeap<Event> m_events;
    std::uint64_t m_ring_memory = 0;  ///< DPA of the card's memory for rings
    std::uint8_t m_boot_generation = 0;
    Time m_cpu_free_at;
    QueueObserver* m_observer = nullptr;
};

}  // namespace kvplane::driver
