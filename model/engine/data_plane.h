// SPDX-License-Identifier: Apache-2.0
/// The card's data plane: intents in, moves, completions out. One promotion passes here in this
/// order: doorbell, descriptor fetch, checks, gather list, index lookup and record (Tier), mover
/// (FlowServers), link, fence, index commit, completion entry. It is also the memory behind the
/// CXL.mem front end, whose lines share DRAM and wire with the moves.
#pragma once

#include <systemc>
#include <vector>

#include "model/common/event_heap.h"
#include "model/cxl/line_memory_if.h"
#include "model/engine/bulk_mem_if.h"
#include "model/engine/chunk_table.h"
#include "model/engine/dma_if.h"
#include "model/engine/intent_queue.h"
#include "model/engine/move_job.h"
#include "model/engine/move_observer.h"
#include "model/engine/movers.h"
#include "model/engine/tier.h"
#include "model/management/event_log.h"
#include "model/management/poison_list.h"
#include "model/management/queue_registers.h"
#include "model/management/reset.h"
#include "model/memory/ddr5_memory.h"
#include "model/memory/sparse_store.h"

namespace kvplane::engine {

struct DataPlaneConfig {
    MoversConfig movers;
    Bytes tier_capacity;
    Bytes block;                 ///< of every block of the run
    bool payload_bytes = false;  ///< move real bytes
    std::uint32_t queues = 2;    ///< queue pairs
};

struct DataPlaneCounters {
    std::uint64_t events = 0;  ///< handled: what a run costs to simulate
    std::uint64_t intents = 0;
    std::uint64_t lookups = 0;
    std::uint64_t promoted_blocks = 0;
    std::uint64_t demoted_blocks = 0;  ///< with an entry in the index
    std::uint64_t unkept_blocks = 0;   ///< that reached the tier, but lost their reservation
    std::uint64_t discarded_blocks = 0;
    std::uint64_t poisoned_blocks =
        0;                  ///< not delivered: a chunk's CRC was wrong, or a line poisoned
    Bytes read_from_tier;   ///< payload that left the tier's DRAM
    Bytes written_to_tier;  ///< payload that reached it
    std::uint64_t tier_high_water = 0;  ///< blocks
};

class DataPlane final : public sc_core::sc_module,
                        public management::DoorbellListener,
                        public BulkMemIf,
                        public cxl::LineMemoryIf,
                        private index::RecordReader,
                        private FlowClient {
public:
    /// What it is handed must outlive it.
    DataPlane(sc_core::sc_module_name name, const DataPlaneConfig& config,
              index::ResidentIndex& index, management::PoisonList& poison,
              management::EventLog& events);

    /// The way to host memory and GPU windows.
    DmaPort dma{"dma"};

    /// The host's lines go to this memory, not to the closed form: DevLoad is told from its queues.
    void serve_host_from(memory::Ddr5Memory& lines) { m_host_memory = &lines; }
    /// Optional; set before the simulation starts.
    void observe(MoveObserver& observer) { m_observer = &observer; }
    [[nodiscard]] management::QueueRegisters& registers() { return m_registers; }

    // Doorbells, at the time at which the card sees them.
    void submission_tail(std::uint32_t queue, std::uint32_t tail) override;
    void completion_head(std::uint32_t queue, std::uint32_t head) override;

    // Copies by a host-side mover, and the bytes of all accesses by the host.
    void open_bulk(BulkDirection direction, Rate cap, BulkClient& client) override;
    void start_bulk(BulkDirection direction, std::uint32_t token, Bytes size) override;
    void read(Dpa address, std::span<std::uint8_t> data) const override;
    void write(Dpa address, std::span<const std::uint8_t> data) override;

    // The host's CXL.mem. A frame that holds a block cannot be written.
    Time access_line(Time at, Dpa line, bool write) override;
    [[nodiscard]] Time idle_latency() const override { return m_dram.idle_latency(); }
    [[nodiscard]] bool read_poison(Dpa line) override;
    void set_poison(Dpa line, bool poisoned) override;
    [[nodiscard]] bool writable(Dpa line) const override {
        return !m_tier.frames().allocated(line);
    }
    [[nodiscard]] Ratio other_load() const override;
    [[nodiscard]] Ratio queued(Dpa line) override;
    [[nodiscard]] Time wire_wait(cxl::Direction direction) const override;
    void clear() override;

    /// Viral: intents under way end without a completion, copies of a host-side mover fail, and
    /// nothing more goes out before the next reset that takes the link down.
    void halt();
    /// A reset of the card. Intents under way end without a completion, as do copies where the link
    /// goes down; what effect_of(kind) does not keep is gone, except for the bytes (clear()).
    void reset(management::Reset kind);

    [[nodiscard]] const Tier& tier() const { return m_tier; }
    /// For faults.
    [[nodiscard]] Tier& tier() { return m_tier; }
    [[nodiscard]] const DataPlaneCounters& counters() const { return m_counters; }
    [[nodiscard]] const Movers& movers() const { return m_movers; }

private:
    enum class Step : std::uint8_t { kFetched, kAdmit, kReady, kMovers, kCommit, kComplete, kHost };
    struct Event {
        Step step = Step::kMovers;
        std::uint32_t subject = 0;  ///< queue or job
    };

    void run();
    void handle(const Event& event);
    void try_fetch(std::uint32_t queue);
    void fetched(std::uint32_t queue);
    [[nodiscard]] Status check(const Intent& intent) const;
    void admit(std::uint32_t job);
    [[nodiscard]] bool read_blocks(MoveJob& job);
    void admit_promotion(std::uint32_t id);
    void admit_demotion(std::uint32_t id);
    void discard(std::uint32_t id);
    void ready(std::uint32_t job);
    void commit(std::uint32_t job);
    [[nodiscard]] Time commit_demotion(MoveJob& job);
    void complete_at(std::uint32_t job, Time committed);
    void complete(std::uint32_t job);
    void arm_movers();
    void close_host_window();
    void drop_moves();
    void fail_copies();
    [[nodiscard]] bool poisoned(TierFrame frame);

    Time read_record_line(Time at, std::uint64_t line) override;
    [[nodiscard]] std::optional<block::BlockKey> key_of(std::uint32_t frame) override;
    void block_drained(std::uint32_t mover, std::uint32_t id, std::uint32_t block, Time start,
                       Time end) override;
    void job_drained(std::uint32_t mover, std::uint32_t id, Time end) override;
    void job_given_up(std::uint32_t mover, std::uint32_t id, std::uint32_t blocks, FlowEnd reason,
                      Time end) override;
    [[nodiscard]] BlockMove describe(const MoveJob& job, std::uint32_t block, Time start,
                                     Time end) const;
    [[nodiscard]] bool promote_payload(MoveJob& job, const MoveJob::Block& block);
    void demote_payload(const MoveJob& job, const MoveJob::Block& block);

    [[nodiscard]] Time fence() const;
    [[nodiscard]] Time completion_flight() const;
    [[nodiscard]] std::uint32_t take_job();

    DataPlaneConfig m_config;
    cxl::Link m_link;
    memory::Dram m_dram;
    memory::Ddr5Memory* m_host_memory = nullptr;
    Tier m_tier;
    management::PoisonList& m_poison;
    management::EventLog& m_log;
    management::QueueRegisters m_registers;
    FlowMovers m_movers;
    memory::SparseStore m_store;
    ChunkTable m_chunks;
    EventHeap<Event> m_events;
    MoveObserver* m_observer = nullptr;
    std::vector<IntentQueue> m_queues;
    std::vector<Time> m_fetch_started;  ///< by queue
    std::vector<Time> m_last_admitted;  ///< by queue
    std::vector<IntentQueue::Fetched> m_fetched;
    std::vector<GatherEntry> m_list;
    std::vector<std::uint8_t> m_buffer;
    std::vector<MoveJob> m_jobs;
    std::vector<std::uint32_t> m_free_jobs;
    Time m_check_free_at;
    Time m_wire_wait;  ///< of a host's line behind the card's DMA: a flit or a TLP
    Time m_movers_armed = Time::never();
    struct Bulk {
        BulkClient* client = nullptr;
        Time start;
    };
    std::array<Bulk, 2> m_bulk{};
    std::array<std::uint64_t, 2> m_host_lines{};  ///< read, written; in the open window
    bool m_host_window_open = false;
    bool m_halted = false;
    DataPlaneCounters m_counters;
};

}  // namespace kvplane::engine
