// SPDX-License-Identifier: Apache-2.0
#include "explore/move_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <systemc>

#include "explore/host_reader.h"
#include "explore/kernel.h"
#include "explore/platform.h"
#include "explore/study_index.h"
#include "host_driver/driver/move_metrics.h"
#include "host_driver/gpu/hbm_pool.h"
#include "model/card/type3_card.h"
#include "model/common/errors.h"
#include "model/common/event_heap.h"
#include "model/common/random.h"

namespace kvplane::explore {
namespace {

using driver::MoveKind;

/// Orders of an open loop that may be in flight before blocks are ordered twice.
constexpr std::uint64_t kOpenDepth = 2048;
/// What a host reads lines of, at least: rows that the moves leave open are few among its own.
constexpr Bytes kHostSpan = Bytes::from_mib(256);
/// Blocks that are written to the tier by one order before the load begins.
constexpr std::uint64_t kFillRun = 1024;

/// Blocks of their own for a flow, taken in turns: promotions find theirs in the tier.
struct Pool {
    std::uint32_t first = 0;
    std::uint32_t blocks = 0;
    std::uint32_t next = 0;

    std::uint32_t take() {
        const std::uint32_t block = first + next;
        next = (next + 1) % blocks;
        return block;
    }
};

/// Orders of a flow at a time; of an open loop no more than come, and as many again, while the
/// first flow's are measured, where it is one itself.
std::uint64_t depth_of(const MoveLoad& load, const MoveFlow& flow) {
    if (flow.depth != 0) return flow.depth;
    const MoveFlow& first = load.flows.front();
    if (first.depth != 0) return kOpenDepth;
    const Uint128 orders = Uint128{load.warm_up + load.orders} * first.run *
                           flow.rate.bytes_per_second / first.rate.bytes_per_second / flow.run;
    return std::min(kOpenDepth, static_cast<std::uint64_t>(2 * orders) + 16);
}

/// The pools of the flows, one behind the other. A demoted block leaves the tier before its turn
/// comes again: twice the blocks in flight, and one order more.
std::vector<Pool> pools_of(const MoveLoad& load) {
    std::vector<Pool> pools;
    std::uint64_t first = 0;
    for (const MoveFlow& flow : load.flows) {
        const bool demotes = flow.kind == MoveKind::kDemote;
        const std::uint64_t blocks = depth_of(load, flow) * flow.run * (demotes ? 2 : 1) + flow.run;
        pools.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(blocks)});
        first += blocks;
    }
    return pools;
}

std::uint32_t all_blocks(const std::vector<Pool>& pools) {
    return pools.back().first + pools.back().blocks;
}

/// The host: fills the tier, orders, and measures.
class MoveHost final : public sc_core::sc_module, public driver::MoveClient {
public:
    MoveHost(sc_core::sc_module_name name, const MoveLoad& load, const std::vector<Pool>& pools,
             driver::Driver& driver, driver::MoveMetrics& metrics, engine::DataPlane& plane,
             HostReader& reader)
        : sc_module(name),
          m_load(load),
          m_driver(driver),
          m_metrics(metrics),
          m_plane(plane),
          m_reader(reader),
          m_random(load.seed, "move load"),
          m_arrivals("arrivals") {
        m_flows.resize(load.flows.size());
        for (std::size_t i = 0; i < m_flows.size(); ++i) m_flows[i].pool = pools[i];
        driver.set_client(*this);
        SC_HAS_PROCESS(MoveHost);
        SC_METHOD(run);
        sensitive << m_arrivals.event();
        dont_initialize();
    }

    /// Orders all that will be promoted into the tier. False where that is nothing; else the
    /// simulation must run to its end after that.
    [[nodiscard]] bool fill() {
        for (std::size_t i = 0; i < m_flows.size(); ++i) {
            if (m_load.flows[i].kind == MoveKind::kDemote) continue;
            Pool pool = m_flows[i].pool;
            for (std::uint32_t left = pool.blocks; left != 0;) {
                const auto run =
                    static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kFillRun));
                order(MoveKind::kDemote, kNoFlow, pool, run);
                left -= run;
            }
        }
        return m_outstanding != 0;
    }
    void begin() {
        m_metrics.restart();
        m_ordering = true;
        for (std::uint32_t i = 0; i < m_flows.size(); ++i) {
            if (m_load.flows[i].depth == 0) {
                m_arrivals.schedule(now() + gap(i), i);
            } else {
                for (std::uint32_t n = 0; n < m_load.flows[i].depth; ++n) order(i);
            }
        }
    }

    [[nodiscard]] MoveMeasure result() const {
        if (m_ordering || m_outstanding != 0) {
            throw InvariantError("move load: not every order has ended");
        }
        MoveMeasure measure;
        for (const Flow& flow : m_flows) {
            measure.flows.push_back(
                {.payload = rate(flow), .latency = flow.latency, .blocks = flow.moved});
        }
        measure.host_read = m_reader.latency();
        measure.promoted = rate(m_crossed, m_end - m_begin);
        measure.block_latency = m_moves.promotion();
        const auto count = static_cast<double>(m_moves.promotion().count());
        for (std::size_t i = 0; i < engine::kStages && count != 0; ++i) {
            const auto sum = m_moves.stage_sum_ps(static_cast<engine::Stage>(i));
            measure.stage_us[i] = static_cast<double>(sum) / count / 1e6;
        }
        return measure;
    }

private:
    static constexpr std::uint32_t kNoFlow = UINT32_MAX;  ///< an order that belongs to no flow

    struct Flow {
        Pool pool;
        std::uint64_t orders = 0;  ///< that ended, all in all
        std::uint64_t moved = 0;   ///< blocks
        // While measuring:
        std::uint64_t counted = 0;  ///< orders, behind the first
        Time first = Time::never();
        Time last;
        Histogram latency;
    };
    struct Order {
        MoveKind kind = MoveKind::kPromote;
        std::uint32_t flow = kNoFlow;
        Time decided;
        std::vector<driver::Move> moves;
    };

    [[nodiscard]] Rate rate(const Flow& flow) const {
        if (flow.counted == 0) return {};
        const MoveFlow& asked = m_load.flows[static_cast<std::size_t>(&flow - m_flows.data())];
        return rate(m_load.block * (flow.counted * asked.run), flow.last - flow.first);
    }
    [[nodiscard]] static Rate rate(Bytes bytes, Time span) {
        const auto ps = static_cast<Uint128>(std::max<std::int64_t>(1, span.ps));
        const Uint128 scaled = static_cast<Uint128>(bytes.count) * 1'000'000'000'000U;
        return {static_cast<std::uint64_t>(scaled / ps)};
    }
    /// Payload that went to the GPU, whoever moved it.
    [[nodiscard]] Bytes crossed() {
        return m_plane.drained_by_now(engine::kPush) + m_plane.drained_by_now(engine::kBulkRead);
    }

    /// The time to the next order of an open loop.
    [[nodiscard]] Time gap(std::uint32_t flow) {
        const MoveFlow& asked = m_load.flows[flow];
        return m_random.exponential(transfer_time(m_load.block * asked.run, asked.rate));
    }

    void run() {
        std::uint32_t flow = 0;
        while (m_arrivals.pop_due(flow)) {
            if (!m_ordering) continue;
            order(flow);
            m_arrivals.schedule(now() + gap(flow), flow);
        }
    }

    void order(std::uint32_t flow) {
        order(m_load.flows[flow].kind, flow, m_flows[flow].pool, m_load.flows[flow].run);
    }
    void order(MoveKind kind, std::uint32_t flow, Pool& pool, std::uint32_t run) {
        Order& order = m_orders[take_order()];
        order.kind = kind;
        order.flow = flow;
        for (std::uint32_t i = 0; i < run; ++i) {
            const std::uint32_t block = pool.take();
            order.moves.push_back({{block}, study_key(block), block});
        }
        submit(order);
    }
    void submit(Order& order) {
        ++m_outstanding;
        order.decided = now();
        m_driver.submit({.kind = order.kind,
                         .token = static_cast<std::uint32_t>(&order - m_orders.data()),
                         .decided = now(),
                         .frames_ready = now(),
                         .deadline = {},  // none: in order of arrival, and never late
                         .moves = order.moves});
    }
    [[nodiscard]] std::uint32_t take_order() {
        if (m_free.empty()) {
            m_orders.emplace_back();
            return static_cast<std::uint32_t>(m_orders.size() - 1);
        }
        const std::uint32_t token = m_free.back();
        m_free.pop_back();
        m_orders[token].moves.clear();
        return token;
    }

    void run_done(std::uint32_t token, engine::Status status, std::size_t moved) override {
        if (status != engine::Status::kOk || moved != m_orders[token].moves.size()) {
            throw InvariantError(
                fmt::format("move load: an order of kind {} and {} blocks ended {} after {}",
                            static_cast<int>(m_orders[token].kind), m_orders[token].moves.size(),
                            engine::kStatusNames[static_cast<std::size_t>(status)], moved));
        }
        --m_outstanding;
        const std::uint32_t flow = m_orders[token].flow;
        const bool discards = m_orders[token].kind == MoveKind::kDiscard;
        if (flow != kNoFlow && !discards) {
            count(flow, m_orders[token]);
            if (m_orders[token].kind == MoveKind::kDemote) {
                m_orders[token].kind = MoveKind::kDiscard;
                submit(m_orders[token]);
            } else {
                m_free.push_back(token);
            }
            if (m_ordering && m_load.flows[flow].depth != 0) order(flow);
        } else {
            m_free.push_back(token);
        }
    }

    void count(std::uint32_t index, const Order& order) {
        Flow& flow = m_flows[index];
        ++flow.orders;
        flow.moved += order.moves.size();
        if (index == 0 && flow.orders == m_load.warm_up) {
            m_measuring = true;
            m_begin = now();
            m_crossed = crossed();
            m_metrics.restart();
            if (m_load.host_reads) m_reader.begin();
        }
        if (!m_measuring) return;
        if (flow.first == Time::never()) {
            flow.first = now();
        } else {
            ++flow.counted;
            flow.last = now();
            flow.latency.add(now() - order.decided);
        }
        if (index == 0 && flow.counted == m_load.orders) {
            m_measuring = false;
            m_end = now();
            m_reader.end();
            m_crossed = crossed() - m_crossed;
            m_ordering = false;
            m_moves = m_metrics;
        }
    }

    const MoveLoad& m_load;
    driver::Driver& m_driver;
    driver::MoveMetrics& m_metrics;
    engine::DataPlane& m_plane;
    HostReader& m_reader;
    RandomStream m_random;
    EventHeap<std::uint32_t> m_arrivals;  ///< of open loops, by flow
    std::vector<Flow> m_flows;
    std::vector<Order> m_orders;  ///< by token
    std::vector<std::uint32_t> m_free;
    std::uint64_t m_outstanding = 0;
    bool m_ordering = false;
    bool m_measuring = false;
    Time m_begin;                 ///< of measuring
    Time m_end;                   ///< the same
    Bytes m_crossed;              ///< between the two; before m_end: up to m_begin
    driver::MoveMetrics m_moves;  ///< while measuring
};

void check(const MoveLoad& load) {
    bool sound = !load.flows.empty() && load.warm_up != 0 && load.orders != 0;
    for (const MoveFlow& flow : load.flows) {
        sound = sound && flow.kind != MoveKind::kDiscard && flow.run != 0 &&
                flow.run <= driver::kLongestRun &&
                (flow.depth == 0) == (flow.rate.bytes_per_second != 0) &&
                std::count_if(load.flows.begin(), load.flows.end(),
                              [&](const MoveFlow& other) { return other.kind == flow.kind; }) == 1;
    }
    if (!sound) throw InvariantError("move load: outside what MoveLoad says");
}

}  // namespace

MoveMeasure measure_moves(const RunConfig& config, const MoveLoad& load) {
    check(load);
    if (load.host_reads && config.driver.queue == driver::QueuePlace::kHdm) {
        throw InvariantError("move load: host reads beside rings in hdm");
    }
    const Kernel kernel;
    const std::vector<Pool> pools = pools_of(load);
    const std::uint32_t blocks = all_blocks(pools);
    RunConfig sized = config;
    sized.card.tier_capacity = engine::kGranule * engine::granules(load.block) * blocks;
    if (load.host_reads) sized.card.tier_capacity = std::max(sized.card.tier_capacity, kHostSpan);
    const std::unique_ptr<index::TlmIndex> index = make_index(sized.card.index);
    gpu::HbmPool hbm(blocks, load.block, false);
    driver::MoveMetrics metrics;
    card::Type3Card card("card", card_of(sized), load.block, *index);
    const std::unique_ptr<driver::Driver> driver = make_driver(sized, blocks, card, hbm, metrics);
    HostReader reader("reader", sized.card.tier_capacity, load.seed);
    if (load.host_reads) {
        card.map_whole();
        reader.mem.bind(card.mem.socket);
    }
    MoveHost host("host", load, pools, *driver, metrics, card.data_plane(), reader);
    sc_core::sc_start(1, sc_core::SC_PS);  // set up: nothing can be ordered before
    if (host.fill()) sc_core::sc_start();
    host.begin();
    sc_core::sc_start();
    return host.result();
}

}  // namespace kvplane::explore
