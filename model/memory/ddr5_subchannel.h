// SPDX-License-Identifier: Apache-2.0
/// One subchannel at line fidelity: its queues, its FR-FCFS scheduler, its banks and refreshes. No
/// clock: commands are worked out one after another, each at the earliest cycle at which any is
/// ready, and only as far as somebody looks. An idle subchannel costs nothing: refreshes and patrol
/// scrubs that it did meanwhile are caught up when the next request comes.
///
/// Policy. Open page. Of the waiting requests of the current direction each bank has one candidate:
/// the oldest to its open row, else the oldest, and the next command it needs. The earliest ready
/// command goes first, and of several the oldest request's. Writes wait until more than write_high
/// of them do, or no read waits, and then drain to write_low. A bank opened for a request serves it
/// even where the direction has changed or a refresh has fallen due since. Writes are answered when
/// they are taken; a read of a waiting write is answered from the queue, and a write to a waiting
/// one joins it. A request taken in one cycle is scheduled in the next.
///
/// ACT, RD and WR take two cycles of a DDR5 command bus; distances count between first cycles.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/common/growing_ring.h"
#include "model/memory/address_map.h"
#include "model/memory/ddr5_config.h"
#include "model/memory/dram_banks.h"
#include "model/memory/dram_refresh.h"
#include "model/memory/ecc_buffer.h"

namespace kvplane::memory {

enum class LineOp : std::uint8_t { kRead, kWrite, kPartialWrite };

struct LineRequest {
    std::uint64_t line = 0;  ///< of the subchannel; below Ddr5Config::data_lines()
    LineOp op = LineOp::kRead;
    std::uint32_t tag = 0;  ///< comes back with the answer
};

struct LineAnswer {
    Time at;  ///< last data at the controller's user; a write: taken
    std::uint32_t tag = 0;
};

struct Ddr5Counters {
    std::uint64_t requests = 0;   ///< taken
    std::uint64_t answers = 0;    ///< given
    std::uint64_t reads = 0;      ///< RD commands
    std::uint64_t writes = 0;     ///< WR commands
    std::uint64_t activates = 0;  ///< ACT commands
    std::uint64_t precharges = 0;
    std::uint64_t refreshes = 0;
    std::uint64_t forwards = 0;     ///< reads answered from the write queue
    std::uint64_t joined = 0;       ///< writes that joined a waiting one
    std::uint64_t scrubs = 0;       ///< lines read by the patrol scrub
    std::uint64_t ecc_reads = 0;    ///< RD of check bits
    std::uint64_t ecc_writes = 0;   ///< WR of check bits
    std::uint64_t modifies = 0;     ///< RD of a line that is partly written
    std::uint64_t turnarounds = 0;  ///< changes between reads and writes
    std::uint64_t corrected = 0;    ///< errors that a read met and ECC corrected, scrubs included
    std::uint64_t scrubbed = 0;     ///< of them, those whose line was written anew

    Ddr5Counters& operator+=(const Ddr5Counters& other);
};

/// An error that ECC has corrected.
struct DramCorrection {
    Time at;
    std::uint64_t line = 0;  ///< of the subchannel
    bool patrol = false;     ///< found by the patrol scrub, else by a read
};

class Ddr5Subchannel {
public:
    /// `observer`, if any, sees every command in order and must outlive this.
    /// `refresh_offset` puts all refreshes off, so that subchannels need not refresh together.
    explicit Ddr5Subchannel(const Ddr5Config& config, DramObserver* observer = nullptr,
                            Cycle refresh_offset = 0);

    /// Whether there is room for such a request at the time of the last advance(); with room,
    /// submit() takes it.
    [[nodiscard]] bool can_accept(LineOp op) const;
    /// Takes a request at `at`, which must not be before any earlier call's time.
    void submit(Time at, const LineRequest& request);

    /// Works out all commands up to `to`. Never call with an earlier time than before.
    void advance(Time to) { run(m_clock.last_at(to)); }
    /// The next answer that is due by `now`.
    [[nodiscard]] std::optional<LineAnswer> pop_answer(Time now);

    /// Takes the answer of the request that was submitted last, as if none came after it: works its
    /// commands out beyond the time of the last advance(). No other request may have its tag.
    [[nodiscard]] Time take_answer(std::uint32_t tag);

    /// When to call advance() and pop_answer() next: no answer is due before. With `blocked`, also
    /// no room appears before. Time::never() where nothing is due however long one waits. Later
    /// than the time of the last advance().
    [[nodiscard]] Time next_event(bool blocked);

    /// Has every command seen from here on.
    void observe(DramObserver& observer) { m_observer = &observer; }
    void set_thermal(Time at, const DramThermal& thermal);

    /// One bit of a stored line is wrong from now on. A read corrects it and has the line written
    /// anew (demand scrub), the patrol scrub likewise, and a write of the whole line ends it.
    /// Throws UserError without ECC.
    void inject_correctable(std::uint64_t line);
    /// What was corrected since this was last asked, in order. With patrol scrub also what it
    /// found while nobody looked.
    [[nodiscard]] std::vector<DramCorrection> take_corrections() {
        return std::exchange(m_corrections, {});
    }
    [[nodiscard]] bool has_corrections() const { return !m_corrections.empty(); }

    /// Requests taken and not yet answered, and writes not yet in the banks.
    [[nodiscard]] bool idle() const { return m_live[0] + m_live[1] == 0; }
    /// How full the queues are at the time of the last advance(): the fuller of reads, and of
    /// writes above write_high.
    [[nodiscard]] Ratio queued() const;
    [[nodiscard]] const Ddr5Counters& counters() const { return m_counters; }
    [[nodiscard]] const DramClock& clock() const { return m_clock; }

private:
    using Index = std::uint16_t;
    static constexpr Index kNone = UINT16_MAX;
    static constexpr std::uint32_t kReads = 0;
    static constexpr std::uint32_t kWrites = 1;
    static constexpr std::uint32_t kMostRewrites = 4;

    enum class Origin : std::uint8_t { kHost, kModify, kEcc, kScrub };
    struct Entry {
        Cycle arrival = 0;
        Cycle available = 0;  ///< first cycle at which a command may serve it
        std::uint64_t line = 0;
        std::uint32_t tag = 0;
        std::uint32_t age = 0;
        std::int32_t row = 0;
        std::uint8_t bank = 0;
        Origin origin = Origin::kHost;
        Index next = kNone;        ///< of the same bank and direction, younger
        Index wait = kNone;        ///< what a read of data beside check bits waits with
        Index dependents = kNone;  ///< waits that end with this read of check bits
    };
    /// A read that needs two lines.
    struct Wait {
        std::uint32_t tag = 0;
        std::uint32_t parts = 0;
        Index next = kNone;
    };
    struct List {
        Index head = kNone;
        Index tail = kNone;
    };
    /// What a bank would do next in the current direction.
    struct Candidate {
        Cycle ready = 0;  ///< as far as bank and request go
        std::uint32_t age = 0;
        DramCommandKind kind = DramCommandKind::kActivate;
        std::uint8_t group = 0;
        Index entry = kNone;
    };
    enum class Act : std::uint8_t { kCommand, kRefresh, kScrub };
    /// The next thing that happens.
    struct Pick {
        Cycle at = DramRefresh::kNever;
        std::uint32_t bank = 0;
        Act act = Act::kCommand;
        DramRefresh::Next refresh{};
    };

    /// Reads in the read queue: all but the patrol scrub's.
    [[nodiscard]] std::uint32_t queued_reads() const {
        return m_live[kReads] - (m_scrubbing ? 1 : 0);
    }
    /// Writes in the write queue: all but those that scrubs have a place of their own for.
    [[nodiscard]] std::uint32_t queued_writes() const { return m_live[kWrites] - m_rewrites; }

    void run(Cycle to);
    void catch_up_idle(Cycle to);
    void find_pick();
    [[nodiscard]] Pick scan(std::uint32_t no_activate_rank);
    [[nodiscard]] Cycle ready_at(const Candidate& candidate, Cycle floor) const {
        const Cycle group = m_banks.group_ready(candidate.kind, candidate.group);
        return std::max(std::max(candidate.ready, group), floor);
    }
    [[nodiscard]] Cycle next_column();
    void consider_refresh();
    [[nodiscard]] std::uint32_t order_of(const Candidate& candidate) const;
    void consider(std::uint32_t bank);
    void perform();
    void command(std::uint32_t bank, Cycle at);
    void column(std::uint32_t bank, Cycle at);
    void refresh_step(const DramRefresh::Next& next);
    void scrub();
    void correct(std::uint64_t line, Cycle at, bool patrol);
    void correct_idle(Cycle lines);

    /// The banks of a word of a mask that have a candidate: those with requests in the current
    /// direction, and those that were opened for a request in the other, which still goes.
    [[nodiscard]] std::uint64_t eligible(std::uint32_t word) const {
        return m_pending[m_mode].word[word] | m_opened_for[1 - m_mode].word[word];
    }
    [[nodiscard]] bool is_eligible(std::uint32_t bank) const {
        return (eligible(bank >> 6U) >> (bank & 63U) & 1U) != 0;
    }
    void forget_opened(std::uint32_t bank);
    void choose(std::uint32_t bank);
    void set_mode(std::uint32_t mode, Cycle at);
    void update_mode(Cycle at);

    [[nodiscard]] Index push(std::uint32_t direction, std::uint64_t line, const DramPlace& place,
                             Cycle at, Origin origin, std::uint32_t tag);
    void unlink(std::uint32_t direction, Index entry);
    [[nodiscard]] Index find_write(std::uint64_t line, const DramPlace& place) const;
    void read_done(Index entry, Cycle at);
    void submit_read(Cycle at, const LineRequest& request);
    void submit_write(Cycle at, const LineRequest& request);
    void queue_write(std::uint64_t line, Cycle at, Origin origin);
    [[nodiscard]] Index fetch_check_bits(std::uint64_t line, Cycle at, bool dirty);
    void answer_data(std::uint32_t tag, Cycle column_at);
    void end_wait(Index wait, Cycle column_at);
    void report(const DramCommand& command);

    Ddr5Config m_config;
    DramObserver* m_observer;
    DramClock m_clock;
    AddressMap m_map;
    DramBanks m_banks;
    DramRefresh m_refresh;
    EccBuffer m_ecc;
    Ddr5Counters m_counters;

    std::vector<Entry> m_entries;
    Index m_free = kNone;
    std::vector<Wait> m_waits;
    Index m_free_wait = kNone;
    std::array<std::array<List, DramBanks::kMostBanks>, 2> m_lists{};
    std::array<BankMask, 2> m_pending{};     ///< banks with requests, by direction
    std::array<std::uint32_t, 2> m_live{};   ///< requests queued, by direction
    std::array<BankMask, 2> m_opened_for{};  ///< banks opened for a request, by direction
    std::array<Index, DramBanks::kMostBanks> m_opened{};  ///< which; kNone once it is served
    std::uint32_t m_reserved_writes = 0;                  ///< that partial writes will queue
    std::uint32_t m_host_reads = 0;  ///< reads of the host not yet given their data
    std::array<Candidate, DramBanks::kMostBanks> m_candidates{};

    std::uint32_t m_mode = kReads;
    std::uint32_t m_owed_reads = 0;  ///< reads that go before any write after a long batch
    std::uint32_t m_batch = 0;       ///< writes since the last turn that reads have waited for
    Cycle m_reads_wait_since = 0;    ///< in a batch of writes
    Cycle m_starvation;
    Cycle m_data_delay;  ///< column command to last data, cycles
    std::uint32_t m_next_age = 0;
    Cycle m_floor = 0;  ///< no command is given before
    Pick m_pick;        ///< valid unless m_pick_stale
    bool m_pick_stale = true;
    Cycle m_column_soonest = 0;  ///< of the candidates, with m_pick

    Cycle m_scrub_due = DramRefresh::kNever;
    Cycle m_scrub_interval = 0;
    std::uint64_t m_scrub_line = 0;
    bool m_scrubbing = false;
    std::vector<std::uint64_t> m_faults;  ///< lines with a wrong bit, ascending
    std::vector<DramCorrection> m_corrections;
    std::uint32_t m_rewrites = 0;  ///< corrected lines that wait to be written

    GrowingRing<LineAnswer> m_data;   ///< answers with data from the banks, by time
    GrowingRing<LineAnswer> m_quick;  ///< writes taken, by time
    GrowingRing<LineAnswer> m_forwarded;
};

}  // namespace kvplane::memory
