// SPDX-License-Identifier: Apache-2.0
/// The card's data plane: intents in, moves, completions out. One promotion passes here in this
/// order: doorbell, descriptor fetch, checks, gather list (intake.cpp), index lookup and record
/// (promotion.cpp, Tier), mover (FlowServers), link, fence, index commit, completion entry. It is
/// also the memory behind the CXL.mem front end, whose lines share DRAM and wire with the moves
/// (host_access.cpp).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <systemc>
#include <vector>

#include "model/common/event_heap.h"
#include "model/common/flat_map.h"
#include "model/cxl/line_memory_if.h"
#include "model/engine/address_cache.h"
#include "model/engine/bulk_mem_if.h"
#include "model/engine/chunk_table.h"
#include "model/engine/dma_if.h"
#include "model/engine/intent_queue.h"
#include "model/engine/line_movers.h"
#include "model/engine/move_job.h"
#include "model/engine/move_observer.h"
#include "model/engine/movers.h"
#include "model/engine/plane_observer.h"
#include "model/engine/tier.h"
#include "model/index/policy_store.h"
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
    Bytes ring_memory;  ///< behind the tier, for submission rings
    /// Of the run's blocks. A length of as many granules means exactly this; any other length is
    /// one of whole granules.
    Bytes block;
    bool payload_bytes = false;  ///< move real bytes
    std::uint32_t queues = 2;    ///< queue pairs
};

struct DataPlaneCounters {
    std::uint64_t events = 0;  ///< handled: what a run costs to simulate
    std::uint64_t intents = 0;
    std::uint64_t completions = 0;
    std::uint64_t dropped_intents = 0;  ///< by a reset or viral, without a completion
    std::uint64_t lookups = 0;
    std::uint64_t promoted_blocks = 0;
    std::uint64_t demoted_blocks = 0;  ///< with an entry in the index
    std::uint64_t unkept_blocks = 0;   ///< that reached the tier, but lost their reservation
    std::uint64_t discarded_blocks = 0;
    std::uint64_t released_blocks = 0;  ///< dropped with their last right
    std::uint64_t moved_blocks = 0;     ///< within the tier
    std::uint64_t merged_intents = 0;   ///< that shared the transfer of another
    std::uint64_t waited_intents = 0;   ///< promotions that waited for their block's demotion
    std::uint64_t cancelled_intents = 0;
    /// By the class that was asked for: blocks that crossed behind the deadline of their intent, or
    /// were dropped for being late. Of a shared transfer each intent's are counted.
    std::array<std::uint64_t, kClassNames.size()> missed_blocks{};
    /// Not delivered: a chunk's CRC was wrong, or a line poisoned.
    std::uint64_t poisoned_blocks = 0;
    std::uint64_t refused_blocks = 0;      ///< which the device did not take
    std::uint64_t stale_descriptors = 0;   ///< a doorbell overtook their write
    std::uint64_t lost_portal_writes = 0;  ///< to a full portal
    Bytes read_from_tier;                  ///< payload that left the tier's DRAM
    Bytes written_to_tier;                 ///< payload that reached it
    std::uint64_t tier_high_water = 0;     ///< blocks
};

class DataPlane final : public sc_core::sc_module,
                        public management::DoorbellListener,
                        public BulkMemIf,
                        public cxl::LineMemoryIf,
                        private index::RecordReader,
                        private MoveAddressIf,
                        private FlowClient {
public:
    /// What it is handed must outlive it.
    DataPlane(sc_core::sc_module_name name, const DataPlaneConfig& config,
              index::ResidentIndex& index, management::PoisonList& poison,
              management::EventLog& events);

    /// The way to host memory and device windows.
    DmaPort dma{"dma"};

    /// The host's lines go to this memory, not to the closed form: DevLoad is told from its queues.
    void serve_host_from(memory::Ddr5Memory& lines) { m_host_memory = &lines; }
    /// To be connected; nullptr where moves are flows.
    [[nodiscard]] LineMovers* line_movers() { return m_line_movers; }
    /// Optional; set before the simulation starts.
    void observe(MoveObserver& observer) { m_observer = &observer; }
    /// Any number of them; each must outlive this.
    void observe(JobObserver& observer) { m_job_observers.push_back(&observer); }
    [[nodiscard]] management::QueueRegisters& registers() { return m_registers; }

    // Doorbells, at the time at which the card sees them.
    void submission_tail(std::uint32_t queue, std::uint32_t tail) override;
    void completion_head(std::uint32_t queue, std::uint32_t head) override;
    void bus_master(bool enabled) override;
    void invalidate(std::uint32_t queue, Hpa address) override;
    /// A descriptor arrives at the portal of `queue`. False where that has none, or is not enabled.
    [[nodiscard]] bool portal(std::uint32_t queue, const Intent& intent);

    // Copies by a host-side mover, and the bytes of all accesses by the host.
    void open_bulk(BulkDirection direction, Rate cap, BulkClient& client) override;
    void start_bulk(BulkDirection direction, std::uint32_t token, Bytes size) override;
    void read(Dpa address, std::span<std::uint8_t> data) const override;
    void write(Dpa address, std::span<const std::uint8_t> data) override;

    // The host's CXL.mem. Room that holds a block cannot be written.
    Time access_line(Time at, Dpa line, bool write) override;
    [[nodiscard]] Time idle_latency() const override { return m_dram.idle_latency(); }
    [[nodiscard]] bool read_poison(Dpa line) override;
    void set_poison(Dpa line, bool poisoned) override;
    [[nodiscard]] bool writable(Dpa line) const override { return !m_tier.room().allocated(line); }
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
    // For faults.
    [[nodiscard]] Tier& tier() { return m_tier; }
    /// The device behind a window gives no credits for posted writes, and answers no reads.
    void stall_device(std::uint32_t queue, std::uint16_t window, bool stalled);
    /// Nothing of the card's DMA and of copies by a host-side mover crosses the link. Bus master
    /// enable, which stops DMA alone, stands beside it.
    void stop_link(bool stopped);
    [[nodiscard]] const index::PolicyStore& policy() const { return *m_policy; }
    [[nodiscard]] const AddressCache& address_cache() const { return m_addresses; }
    [[nodiscard]] const DataPlaneCounters& counters() const { return m_counters; }
    [[nodiscard]] const Movers& movers() const { return m_movers; }
    /// What a mover has drained by now.
    [[nodiscard]] Bytes drained_by_now(Mover mover);
    /// Throws InvariantError unless tier, jobs and counts agree.
    void audit() const;

private:
    enum class Step : std::uint8_t {
        kFetched,
        kAdmit,
        kReady,
        kMovers,
        kDeliver,
        kCommit,
        kComplete,
        kFlush,
        kHost
    };
    static constexpr Bytes kFlagSize{8};
    struct Event {
        Step step = Step::kMovers;
        std::uint32_t subject = 0;  ///< queue or job
        std::uint32_t detail = 0;   ///< block, or number of the batch
    };
    /// Completions of a queue pair that wait to be written together.
    struct Batch {
        std::vector<CompletionEntry> entries;
        std::uint32_t number = 0;
        std::uint64_t oldest = 0;  ///< least serial of their jobs
    };
    /// Payload that has left the card without a fence.
    struct Delivery {
        management::Window window;
        std::uint32_t slot = 0;
        Bytes size;
        std::vector<std::uint8_t> data;
    };
    /// What may still use a translation that was dropped: all of its address space from before.
    struct Invalidation {
        std::uint32_t queue = 0;
        std::uint32_t pasid = 0;
        std::uint64_t serial = 0;      ///< of the last job
        std::uint64_t deliveries = 0;  ///< so many have been sent out
        Time fetched;                  ///< the last descriptors are there
    };

    void run();
    void handle(const Event& event);
    /// Whether the card may read and write over the link.
    [[nodiscard]] bool may_cross() const { return m_registers.bus_master() && !m_link_down; }
    void stop_or_go_on();

    // intake.cpp
    void try_fetch(std::uint32_t queue);
    void fetched(std::uint32_t queue);
    [[nodiscard]] Time fetch_time(std::uint32_t queue, std::uint32_t count);
    void take_in(std::uint32_t queue, const IntentQueue::Fetched& fetched);
    [[nodiscard]] Status check(const Intent& intent, const management::QueueSetup& setup) const;
    [[nodiscard]] bool check_target(const Intent& intent,
                                    const management::QueueSetup& setup) const;
    void admit(std::uint32_t job);
    [[nodiscard]] bool read_blocks(MoveJob& job);
    [[nodiscard]] Bytes size_of(std::uint32_t length_4k) const;
    void finish_invalidations();
    [[nodiscard]] bool in_use(const Invalidation& one) const;
    [[nodiscard]] Time translate(const MoveJob& job);
    void look_up_flag(const MoveJob& job, Translations& all);

    // control_intents.cpp
    void serve(std::uint32_t job);
    [[nodiscard]] Status apply(MoveJob& job, const MoveJob::Block& block, const Tier::Found& found,
                               Time& done);
    [[nodiscard]] Status pin(MoveJob& job, TierFrame frame);
    [[nodiscard]] Status retain(const MoveJob& job, const MoveJob::Block& block, Time& done);
    void update_policy(std::uint32_t job);
    void query(std::uint32_t job);
    void cancel(std::uint32_t job);
    [[nodiscard]] Status cancel_other(std::uint32_t target);

    // promotion.cpp
    void admit_promotion(std::uint32_t job);
    [[nodiscard]] bool merge(std::uint32_t job);
    [[nodiscard]] bool same_move(const MoveJob& a, const MoveJob& b) const;
    [[nodiscard]] std::uint64_t move_hash(const MoveJob& job) const;
    [[nodiscard]] bool wait_for(std::uint32_t job, std::uint32_t other);
    void leave_wait(std::uint32_t job);
    [[nodiscard]] std::uint32_t bringer_of(TierFrame frame) const;
    void forget_promotion(std::uint32_t job);
    [[nodiscard]] bool deliver(MoveJob& job, const MoveJob::Block& block, Time end);
    void deliver_late();
    [[nodiscard]] bool write_window(const management::Window& window, std::uint32_t slot,
                                    Bytes size, std::span<const std::uint8_t> data);
    [[nodiscard]] bool poisoned(TierFrame frame, std::span<const std::uint8_t> payload);
    [[nodiscard]] std::optional<Hpa> flag_of(const MoveJob& job) const;
    void raise_flag(const MoveJob& job);

    // demotion.cpp
    void admit_demotion(std::uint32_t job);
    [[nodiscard]] bool keep(std::uint32_t job, std::size_t accepted, Time answered);
    [[nodiscard]] Time commit_demotion(MoveJob& job);
    void demote_payload(MoveJob& job, const MoveJob::Block& block);
    void heal(TierFrame frame);
    void admit_move(std::uint32_t job);
    [[nodiscard]] static bool continues_run(const MoveJob& job, std::size_t moved, Bytes size);
    [[nodiscard]] Time commit_move(MoveJob& job);
    [[nodiscard]] bool move_payload(const MoveJob::Block& block);

    void ready(std::uint32_t job);
    void count_missed(const MoveJob& job, std::uint32_t blocks, Time end);
    void commit(std::uint32_t job);
    void let_go(const MoveJob& job, std::size_t from, std::size_t until);
    void complete_at(std::uint32_t job, Time committed);
    void complete(std::uint32_t job);
    void flush(std::uint32_t queue);
    void arm_movers();
    [[nodiscard]] std::unique_ptr<Movers> make_movers();
    [[nodiscard]] memory::Dram::Transfers transfers();
    [[nodiscard]] Dpa move_address(std::uint32_t mover, std::uint32_t id, std::uint32_t block,
                                   Bytes offset) const override;
    void close_host_window();
    void drop_moves();
    void fail_copies();
    void read_frame(TierFrame frame, std::span<std::uint8_t> data) const;
    void write_frame(TierFrame frame, std::span<const std::uint8_t> data);

    Time read_record_line(Time at, std::uint64_t line) override;
    [[nodiscard]] std::optional<block::BlockKey> key_of(std::uint32_t frame) override;
    void block_drained(std::uint32_t mover, std::uint32_t id, std::uint32_t block, Time start,
                       Time end) override;
    void job_drained(std::uint32_t mover, std::uint32_t id, Time end) override;
    void job_given_up(std::uint32_t mover, std::uint32_t id, std::uint32_t blocks, FlowEnd reason,
                      Time end) override;
    [[nodiscard]] static std::uint32_t mover_of(const MoveJob& job);
    [[nodiscard]] BlockMove describe(const MoveJob& job, std::uint32_t block, Time start,
                                     Time end) const;

    [[nodiscard]] const management::QueueSetup& setup_of(const MoveJob& job) const {
        return m_registers.queue(job.queue);
    }
    [[nodiscard]] Hpa address_of(const MoveJob& job, const MoveJob::Block& block,
                                 std::uint32_t shard) const {
        return setup_of(job).windows[job.window()].address(block.slot, shard);
    }
    [[nodiscard]] Time fence() const;
    [[nodiscard]] Time device_flight() const;
    [[nodiscard]] Time flight_fenced() const;
    /// A DMA read of device memory: request, access, data.
    [[nodiscard]] Time device_round_trip() const;
    [[nodiscard]] Time completion_flight() const;
    [[nodiscard]] std::uint32_t take_job();
    void forget_policy();

    DataPlaneConfig m_config;
    cxl::Link m_link;
    memory::Dram m_dram;
    memory::Ddr5Memory* m_host_memory = nullptr;
    LineMovers* m_line_movers = nullptr;
    index::ResidentIndex& m_index;
    Tier m_tier;
    std::optional<index::PolicyStore> m_policy;
    AddressCache m_addresses;
    management::PoisonList& m_poison;
    management::EventLog& m_log;
    management::QueueRegisters m_registers;
    std::unique_ptr<Movers> m_owned_movers;
    Movers& m_movers;
    memory::SparseStore m_store;
    ChunkTable m_chunks;
    EventHeap<Event> m_events;
    MoveObserver* m_observer = nullptr;
    std::vector<JobObserver*> m_job_observers;
    std::vector<IntentQueue> m_queues;
    std::vector<Batch> m_batches;                   ///< by queue
    std::vector<Time> m_fetch_started;              ///< by queue
    std::vector<Time> m_fetch_ends;                 ///< by queue
    std::vector<Time> m_last_admitted;              ///< by queue
    std::vector<std::uint32_t> m_held_completions;  ///< jobs, while nothing may cross
    std::vector<Invalidation> m_invalidations;
    std::vector<Delivery> m_deliveries;  ///< in order of arrival, those before m_next_delivery done
    std::size_t m_next_delivery = 0;
    std::uint64_t m_deliveries_sent = 0;
    std::uint64_t m_deliveries_done = 0;
    std::vector<IntentQueue::Fetched> m_fetched;
    std::vector<GatherEntry> m_list;
    std::vector<index::PolicyChange> m_changes;
    std::vector<std::uint8_t> m_buffer;
    std::vector<MoveJob> m_jobs;
    std::vector<std::uint32_t> m_free_jobs;
    FlatMap<std::uint64_t, std::uint32_t, NumberHash> m_promotions;  ///< under way, by move_hash
    std::uint64_t m_admissions = 0;
    Time m_check_free_at;
    Rate m_push_rate;  ///< payload of promotions that the wire carries
    Time m_wire_wait;  ///< of a host's line behind the card's DMA: a flit or a TLP
    Time m_movers_armed = Time::never();
    struct Bulk {
        BulkClient* client = nullptr;
        Time start;
    };
    std::array<Bulk, 2> m_bulk{};
    std::array<std::uint64_t, 2> m_host_lines{};  ///< read, written; in the open window
    bool m_host_window_open = false;
    /// What has moved until lately, and how fast in the time before.
    struct Lately {
        Time at;
        Bytes moved;
        Rate rate;
    };
    Lately m_lately;
    bool m_halted = false;
    bool m_link_down = false;
    DataPlaneCounters m_counters;
};

}  // namespace kvplane::engine
