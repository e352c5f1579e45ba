// SPDX-License-Identifier: Apache-2.0
/// What drains when: flow servers against a twin that goes picosecond by picosecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "flow_recorder.h"
#include "model/common/errors.h"
#include "model/common/flow_server.h"
#include "model/common/random.h"

namespace kvplane {
namespace {

constexpr std::uint64_t kWhole = std::uint64_t{1} << 32;
constexpr std::uint64_t kGiga = 1'000'000'000;
constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;

using Capacity = std::array<std::uint64_t, kFlowResources>;

struct Setting {
    Capacity capacity{};
    std::vector<FlowServerConfig> servers;
    std::vector<Capacity> host_loads;
};

/// Something that happens to the servers from outside.
struct Action {
    Time at;
    std::optional<std::uint32_t> server;  ///< a job for it; else a change of the host's load
    FlowJob job;
    std::size_t host_load = 0;
};

/// The rates that the arbiter gives to `mask`, asked of servers that do nothing else.
std::vector<std::uint64_t> rates_of(const Setting& setting, std::uint32_t mask, std::size_t host) {
    FlowRecorder client;
    FlowServers flow(setting.capacity, setting.servers, client);
    flow.set_host_load(setting.host_loads[host], Time{});
    std::vector<std::uint64_t> rates;
    for (std::uint32_t i = 0; i < setting.servers.size(); ++i) {
        if ((mask >> i & 1U) != 0) flow.push(i, {.block_bytes = {1'000'000}}, Time{});
    }
    for (std::uint32_t i = 0; i < setting.servers.size(); ++i) {
        rates.push_back(flow.rate(i).bytes_per_second);
    }
    return rates;
}

/// The same servers in steps of a picosecond.
class SteppedTwin {
public:
    explicit SteppedTwin(const Setting& setting)
        : m_setting(setting), m_servers(setting.servers.size()) {}

    void run(const std::vector<Action>& actions, Time until) {
        std::size_t next = 0;
        for (Time t{}; t <= until; t += Time{1}) {
            for (std::uint32_t i = 0; i < m_servers.size(); ++i) end_what_is_done(i, t);
            for (; next < actions.size() && actions[next].at == t; ++next) act(actions[next], t);
            if (m_changed) rerate();
            for (std::size_t i = 0; i < m_servers.size(); ++i) m_servers[i].work += m_rates[i];
        }
    }

    std::array<std::vector<FlowEvent>, kFlowServers> events;
    std::array<std::uint64_t, kFlowServers> bytes{};
    int rate_changes = 0;

private:
    struct Server {
        std::vector<FlowJob> waiting;  ///< in order of arrival
        bool busy = false;
        FlowJob job;
        std::uint64_t work = 0;  ///< bytes x 10^12
        std::uint32_t blocks = 0;
        Time block_start;
    };

    void act(const Action& action, Time t) {
        if (!action.server) {
            m_host = action.host_load;
            m_changed = true;
            return;
        }
        Server& server = m_servers[*action.server];
        server.waiting.push_back(action.job);
        if (!server.busy) start(server, t);
    }

    void start(Server& server, Time t) {
        m_changed = true;
        server.busy = !server.waiting.empty();
        if (!server.busy) return;
        server.job = server.waiting.front();
        server.waiting.erase(server.waiting.begin());
        server.work = 0;
        server.blocks = 0;
        server.block_start = t;
    }

    void end_what_is_done(std::uint32_t index, Time t) {
        Server& server = m_servers[index];
        if (!server.busy) return;
        while (server.blocks < server.job.blocks && server.work >= end_of(server) * kPsPerSecond) {
            events[index].push_back({server.job.id, server.blocks++, server.block_start, t});
            server.block_start = t;
        }
        if (server.blocks != server.job.blocks) return;
        events[index].push_back({server.job.id, -1, {}, t});
        bytes[index] += server.job.bytes().count;
        start(server, t);
    }

    /// Of the block under way, in bytes from the job's start.
    static std::uint64_t end_of(const Server& server) {
        const FlowJob& job = server.job;
        const bool last = server.blocks + 1 == job.blocks && job.last_bytes.count != 0;
        return job.block_bytes.count * server.blocks +
               (last ? job.last_bytes : job.block_bytes).count;
    }

    void rerate() {
        std::uint32_t mask = 0;
        for (std::uint32_t i = 0; i < m_servers.size(); ++i)
            mask |= m_servers[i].busy ? 1U << i : 0;
        m_rates = rates_of(m_setting, mask, m_host);
        m_changed = false;
        ++rate_changes;
    }

    const Setting& m_setting;
    std::vector<Server> m_servers;
    std::vector<std::uint64_t> m_rates = std::vector<std::uint64_t>(kFlowServers);
    std::size_t m_host = 0;
    bool m_changed = false;
};

Setting random_setting(RandomStream& random) {
    Setting setting;
    for (std::uint64_t& c : setting.capacity) c = random.uniform(3 * kGiga, 20 * kGiga);
    setting.servers.resize(random.uniform(1, kFlowServers));
    for (std::uint32_t i = 0; i < setting.servers.size(); ++i) {
        FlowServerConfig& server = setting.servers[i];
        server.share[0] = random.uniform(kWhole / 2, 2 * kWhole);
        server.share[random.uniform(1, 3)] = random.uniform(kWhole / 2, 2 * kWhole);
        server.overhead[random.uniform(1, 3)] = random.uniform(kWhole / 8);
        server.mixed_with = static_cast<std::uint32_t>(random.uniform(16)) & ~(1U << i);
        server.mixed_share[0] = random.uniform(kWhole / 4);
        if (random.uniform(3) == 0) server.cap = {random.uniform(kGiga, 9 * kGiga)};
    }
    setting.host_loads = {{}, {kGiga, kGiga / 2, 0, 0}, {UINT64_MAX / 2, 0, 0, 0}};
    return setting;
}

std::vector<Action> random_actions(RandomStream& random, const Setting& setting, Time until) {
    std::vector<Action> actions;
    for (std::uint32_t i = 0; i < 120; ++i) {
        const Time at{static_cast<std::int64_t>(
            random.uniform(static_cast<std::uint64_t>(until.ps) * 3 / 4))};
        if (random.uniform(8) == 0) {
            actions.push_back({.at = at,
                               .server = {},
                               .job = {},
                               .host_load = static_cast<std::size_t>(random.uniform(3))});
            continue;
        }
        const FlowJob job{.id = i,
                          .blocks = static_cast<std::uint32_t>(random.uniform(1, 4)),
                          .block_bytes = {random.uniform(1, 30)},
                          .last_bytes = {random.uniform(3) == 0 ? random.uniform(1, 30) : 0}};
        actions.push_back(
            {.at = at,
             .server = static_cast<std::uint32_t>(random.uniform(setting.servers.size())),
             .job = job});
    }
    std::stable_sort(actions.begin(), actions.end(),
                     [](const Action& a, const Action& b) { return a.at < b.at; });
    // Servers must get to their ends.
    actions.push_back({.at = {until.ps * 3 / 4}, .server = {}, .job = {}, .host_load = 0});
    return actions;
}

/// Plays `actions`; with `wake`, also advances at each end, as the card does.
void play(FlowServers& flow, const Setting& setting, const std::vector<Action>& actions, Time until,
          bool wake) {
    for (const Action& action : actions) {
        while (wake && flow.next_end() <= action.at) flow.advance(flow.next_end());
        if (action.server) {
            flow.push(*action.server, action.job, action.at);
        } else {
            flow.set_host_load(setting.host_loads[action.host_load], action.at);
        }
    }
    flow.advance(until);
}

void expect_equal(const std::vector<FlowEvent>& events, const std::vector<FlowEvent>& twin) {
    EXPECT_EQ(events.size(), twin.size());
    const auto [a, b] = std::mismatch(events.begin(), events.end(), twin.begin(), twin.end());
    if (a == events.end() || b == twin.end()) return;
    ADD_FAILURE() << "event " << a - events.begin() << ": " << testing::PrintToString(*a)
                  << ", and of the twin " << testing::PrintToString(*b);
}

TEST(FlowTimelineTest, EqualsASimulationInStepsOfAPicosecond) {
    RandomStream random(2, "flow timeline");
    const Time until = Time::from_ns(1'500);
    for (int trial = 0; trial < 24 && !testing::Test::HasFailure(); ++trial) {
        SCOPED_TRACE(trial);
        const Setting setting = random_setting(random);
        const std::vector<Action> actions = random_actions(random, setting, until);
        SteppedTwin twin(setting);
        twin.run(actions, until);
        for (const bool wake : {false, true}) {
            FlowRecorder recorder;
            FlowServers flow(setting.capacity, setting.servers, recorder);
            play(flow, setting, actions, until, wake);
            for (std::uint32_t i = 0; i < setting.servers.size(); ++i) {
                expect_equal(recorder.events[i], twin.events[i]);
                if (!flow.busy(i)) {
                    EXPECT_EQ(flow.drained(i).count, twin.bytes[i]);
                }
            }
        }
        EXPECT_GT(twin.rate_changes, 50);
        EXPECT_GT(twin.events[0].size(), 20U);
    }
}

TEST(FlowTimelineTest, RunsInOrderOfArrivalWithoutAQueueOfItsOwn) {
    FlowRecorder recorder;
    FlowServerConfig config;
    config.share[0] = kWhole;
    FlowServers flow({kGiga, 0, 0, 0}, {config}, recorder);
    for (std::uint32_t id = 0; id < 7; ++id) {
        flow.push(0,
                  {.id = id,
                   .priority = static_cast<std::uint8_t>(7 - id),
                   .deadline = {7 - id},
                   .block_bytes = {8}},
                  Time{});
    }
    flow.advance(Time::from_us(1));
    for (std::uint32_t id = 0; id < 7; ++id) EXPECT_EQ(recorder.events[0][2 * id].id, id);
}

TEST(FlowTimelineTest, ARunOfBlocksEndsBlockByBlockInOneStep) {
    FlowRecorder recorder;
    FlowServerConfig config;
    config.share[0] = kWhole;
    FlowServers flow({3 * kGiga, 0, 0, 0}, {config}, recorder);
    flow.push(0, {.id = 7, .blocks = 1'000, .block_bytes = {1'000}}, Time{});
    EXPECT_EQ(flow.next_end().ps, 333'333'334);  // 10^6 B at 3 GB/s, rounded up
    flow.advance(flow.next_end());
    ASSERT_EQ(recorder.events[0].size(), 1'001U);
    for (std::int64_t k = 0; k < 1'000; ++k) {
        const FlowEvent& event = recorder.events[0][static_cast<std::size_t>(k)];
        EXPECT_EQ(event.end.ps, ((k + 1) * 1'000'000 + 2) / 3);  // never the sum of roundings
        EXPECT_EQ(event.start.ps, (k * 1'000'000 + 2) / 3);
    }
    EXPECT_EQ(flow.next_end(), Time::never());
    EXPECT_FALSE(flow.busy(0));
    EXPECT_EQ(flow.drained(0), Bytes{1'000'000});
    EXPECT_EQ(flow.busy_time(0).ps, 333'333'334);
}

TEST(FlowTimelineTest, TheHostsLoadStopsAJobAndLetsItGoOn) {
    FlowRecorder recorder;
    FlowServerConfig config;
    config.share[0] = kWhole;
    FlowServers flow({kGiga, 0, 0, 0}, {config}, recorder);
    flow.push(0, {.id = 1, .block_bytes = {100}}, Time{});  // 100 ns
    flow.set_host_load({2 * kGiga, 0, 0, 0}, Time::from_ns(40));
    flow.advance(Time::from_us(5));
    EXPECT_TRUE(recorder.events[0].empty());
    flow.set_host_load({}, Time::from_us(5));
    EXPECT_EQ(flow.next_end(), Time::from_ns(5'060));
}

TEST(FlowTimelineTest, AClientMayPushWhenItHearsOfAnEnd) {
    FlowRecorder recorder;
    FlowServerConfig config;
    config.share[0] = kWhole;
    FlowServers flow({2 * kGiga, 0, 0, 0}, {config, config}, recorder);
    std::uint32_t left = 10;
    recorder.on_end = [&](std::uint32_t server, Time end) {
        if (left == 0) return;
        flow.push(server, {.id = --left, .block_bytes = {50}}, end);
    };
    flow.push(0, {.id = 100, .block_bytes = {50}}, Time{});
    flow.push(1, {.id = 101, .block_bytes = {50}}, Time{});
    flow.advance(Time::from_us(1));
    // Twelve jobs of 50 B, two at a time, 50 ns each.
    ASSERT_EQ(recorder.events[0].size() + recorder.events[1].size(), 24U);
    EXPECT_EQ(recorder.events[0].back().end, Time::from_ns(300));
    EXPECT_EQ(recorder.events[1].back().end, Time::from_ns(300));
    EXPECT_EQ(flow.busy_time(0) + flow.busy_time(1), Time::from_ns(600));
}

TEST(FlowTimelineTest, TimeDoesNotRunBackwards) {
    FlowRecorder recorder;
    FlowServers flow({kGiga, 0, 0, 0}, std::vector<FlowServerConfig>(1), recorder);
    flow.set_host_load({}, Time::from_ns(5));
    EXPECT_THROW(flow.advance(Time::from_ns(4)), InvariantError);
    EXPECT_NO_THROW(flow.advance(Time::from_ns(5)));
}

}  // namespace
}  // namespace kvplane
