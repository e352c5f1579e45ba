// SPDX-License-Identifier: Apache-2.0
/// Movers line by line: DRAM commands, lanes, and TLPs on the wire beside the host's flits, under
/// the schedulers that the flows have too.
///
/// Promotions read line after line of what was granted, as far ahead as staging has room, and send
/// what is there in order, an MPS at a time. Demotions send read requests as long as completions
/// have room, and write lines as they come in. What has been read, or asked for, is under way; what
/// was granted beyond gives way. A stalled destination is sent what was under way; nothing more of
/// it is granted.
///
/// Copies of a host-side mover and moves within the tier stay flows, and meet nothing of this.
#pragma once

#include <array>
#include <systemc>
#include <vector>

#include "model/common/event_heap.h"
#include "model/cxl/memory_port.h"
#include "model/cxl/tlp_wire_if.h"
#include "model/engine/movers.h"

namespace kvplane::engine {

/// Where the lines of a move lie.
class MoveAddressIf {
public:
    virtual ~MoveAddressIf() = default;
    /// The place of a byte of a block of a job, in the tier.
    [[nodiscard]] virtual Dpa move_address(std::uint32_t mover, std::uint32_t id,
                                           std::uint32_t block, Bytes offset) const = 0;
};

class LineMovers final : public sc_core::sc_module,
                         public Movers,
                         private cxl::TlpListener,
                         private cxl::MemoryPort::Client {
public:
    LineMovers(sc_core::sc_module_name name, const MoversConfig& config, FlowClient& client,
               const MoveAddressIf& addresses);

    /// To the card's memory at line fidelity: a channel for the reads and one for the writes of
    /// each subchannel.
    cxl::MemoryPort memory;
    /// Before the first job.
    void connect(cxl::TlpWireIf& wire);

    void limit_cap(std::uint32_t mover, Rate cap) override { m_flows.limit_cap(mover, cap); }
    void push(std::uint32_t mover, const FlowJob& job, Time now) override;
    bool cancel(std::uint32_t mover, std::uint32_t id, Time now) override;
    bool raise(std::uint32_t mover, std::uint32_t id, const FlowUrgency& urgency,
               Time now) override;
    void stall(std::uint32_t mover, std::uint16_t destination, bool stalled, Time now) override;
    void stop(std::uint32_t mover, bool stopped, Time now) override;
    std::vector<std::uint32_t> drop(std::uint32_t mover, Time now) override;
    void set_host_load(const std::array<std::uint64_t, kFlowResources>& load, Time now) override {
        m_flows.set_host_load(load, now);
    }
    void advance(Time now) override { m_flows.advance(now); }
    /// Of the flows: lines have events of their own.
    [[nodiscard]] Time next_end() const override { return m_flows.next_end(); }
    [[nodiscard]] bool reads_ahead() const override { return true; }

    /// What the mover reaches alone, while it has something to do.
    [[nodiscard]] Rate rate(std::uint32_t mover) const override;
    [[nodiscard]] bool busy(std::uint32_t mover) const override;
    [[nodiscard]] Time busy_time(std::uint32_t mover) const override;
    [[nodiscard]] Bytes drained(std::uint32_t mover) const override;
    /// Of the flows alone.
    [[nodiscard]] std::uint64_t transfers(std::size_t resource) const override {
        return m_flows.transfers(resource);
    }
    [[nodiscard]] std::uint64_t in_use(std::size_t resource) const override {
        return m_flows.in_use(resource);
    }
    [[nodiscard]] const Scheduler& scheduler(std::uint32_t mover) const override {
        return m_ways.at(mover).scheduler;
    }

private:
    /// A grant whose lines are read or asked for, and whose bytes cross the wire.
    struct Stretch {
        FlowJob job;
        std::uint64_t from = 0;  ///< bytes of the job
        std::uint64_t until = 0;
        std::uint64_t asked = 0;  ///< read, or asked for, up to here
        std::uint64_t sent = 0;   ///< crossed the wire, or on it, up to here
    };
    /// A piece of a block on its way: a write or the reads of one request.
    struct Piece {
        FlowJob job;
        std::uint64_t offset = 0;  ///< of the job
        std::uint32_t bytes = 0;
        std::uint32_t left = 0;  ///< not there yet
    };
    struct Progress {
        Time block_start;
        std::uint32_t under_way = 0;  ///< pieces
        std::uint32_t blocks = 0;     ///< drained
        bool given_up = false;
        FlowEnd reason = FlowEnd::kCancelled;
    };
    struct Way {
        explicit Way(const SchedulerConfig& config) : scheduler(config) {}
        Scheduler scheduler;
        std::vector<Stretch> stretches;  ///< few; the first one's bytes cross next
        std::vector<Piece> pieces;       ///< ring
        std::uint64_t piece_head = 0;
        std::uint64_t piece_tail = 0;
        std::vector<Progress> progress;  ///< by id
        std::uint64_t staged = 0;        ///< bytes with room held
        std::uint32_t epoch = 0;         ///< drops so far
        bool stopped = false;
        Time last_end;
        Time wake = Time::never();
        Time busy_since = Time::never();
        Time busy_time;
        std::uint64_t drained = 0;
        Rate alone;
    };
    /// A line of a promotion between its read and the wire, or of a demotion before its write.
    struct Line {
        Time ready = Time::never();
        Dpa address;
    };
    struct Access {
        std::uint64_t line = 0;  ///< place in its ring
        std::uint32_t epoch = 0;
        bool write = false;
    };
    enum class Step : std::uint8_t { kSend, kHostData, kWrite, kWake };
    struct Event {
        Step step = Step::kSend;
        std::uint32_t subject = 0;  ///< a TLP's id, or a mover
    };
    struct Ended {
        std::uint32_t mover = 0;
        std::uint32_t id = 0;
        std::uint32_t blocks = 0;
        bool complete = false;
        FlowEnd reason = FlowEnd::kCancelled;
        Time end;
    };

    void run();
    void line_done(std::uint32_t tag) override;
    void tlp_arrived(cxl::Direction direction, const cxl::Tlp& tlp) override;

    void serve(std::uint32_t mover);
    void tell();
    void read_lines();
    void send_writes();
    [[nodiscard]] bool send_write(Stretch& stretch);
    void request_reads();
    void answer_request(std::uint32_t tlp);
    void data_arrived(std::uint32_t tlp, Bytes bytes);
    void write_lines();
    void access(Dpa line, bool write, std::uint64_t place);
    [[nodiscard]] Time through_lanes();
    [[nodiscard]] bool free_tag(bool write) const { return !m_free_tags[write ? 1 : 0].empty(); }

    /// The stretch of which more may be read or asked for; nullptr where nothing may go.
    [[nodiscard]] Stretch* next_stretch(std::uint32_t mover);
    [[nodiscard]] std::uint32_t add_piece(std::uint32_t mover, const Piece& piece);
    /// The piece that a TLP is of; nullptr where its job was dropped.
    [[nodiscard]] Piece* piece_of(Way& way, std::uint32_t tlp);
    void crossed(std::uint32_t mover, const Piece& piece, Time end);
    void give_way(std::uint32_t mover, const FlowJob& arrived);
    void collect_given_up(std::uint32_t mover);
    void give_up(std::uint32_t mover, std::uint32_t id, FlowEnd reason);
    /// The block of a job that a byte of it is of.
    [[nodiscard]] static std::uint32_t block_of(const FlowJob& job, std::uint64_t offset);
    [[nodiscard]] static bool in_stretches(const Way& way, std::uint32_t id);
    void arm_wake(std::uint32_t mover, Time at);
    [[nodiscard]] cxl::MemoryPort::Client& memory_client() { return *this; }

    MoversConfig m_config;
    FlowClient& m_client;
    const MoveAddressIf& m_addresses;
    cxl::TlpWireIf* m_wire = nullptr;
    FlowMovers m_flows;
    std::array<Way, 2> m_ways;  ///< kPush, kPull
    EventHeap<Event> m_events;
    std::vector<Access> m_accesses;                         ///< by tag
    std::array<std::vector<std::uint32_t>, 2> m_free_tags;  ///< of reads, of writes
    Time m_lane_time;                                       ///< of a line
    Time m_lanes_free;
    Time m_answer_delay;  ///< from a read request's arrival to its data on the wire
    Rate m_read_wire;     ///< at which that data crosses, whatever holds requests back

    /// In m_lines and m_incoming, rings of one size, a power of two.
    [[nodiscard]] std::size_t ring_place(std::uint64_t number) const {
        return number & (m_lines.size() - 1);
    }

    // Promotions: lines that are read, in order; those before m_line_sent have left.
    std::vector<Line> m_lines;
    std::uint64_t m_line_read = 0;
    std::uint64_t m_line_sent = 0;
    std::uint32_t m_writes_on_wire = 0;
    std::uint32_t m_most_writes;  ///< on the wire: so many that it never runs dry
    Time m_send_armed = Time::never();
    // Demotions: lines that wait to be written, in order.
    std::vector<Line> m_incoming;
    std::uint64_t m_incoming_head = 0;
    std::uint64_t m_incoming_tail = 0;
    std::uint32_t m_reads_out = 0;
    Time m_next_request;  ///< not before, under a rate cap
    Time m_write_armed = Time::never();

    std::vector<Ended> m_ended;  ///< jobs whose client has not been told
    std::size_t m_told = 0;
};

}  // namespace kvplane::engine
