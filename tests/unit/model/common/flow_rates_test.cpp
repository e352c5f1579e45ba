// SPDX-License-Identifier: Apache-2.0
/// The arbiter: who gets what of the shared resources.
#include <gtest/gtest.h>

#include <vector>

#include "flow_recorder.h"
#include "model/common/errors.h"
#include "model/common/flow_server.h"
#include "model/common/random.h"

namespace kvplane {
namespace {

constexpr std::uint64_t kWhole = std::uint64_t{1} << 32;
constexpr std::uint64_t kGiga = 1'000'000'000;

using Capacity = std::array<std::uint64_t, kFlowResources>;

/// Keeps the servers of `mask` busy for ever.
void occupy(FlowServers& servers, std::uint32_t mask) {
    for (std::uint32_t i = 0; i < kFlowServers; ++i) {
        if ((mask >> i & 1U) == 0) continue;
        servers.push(i, {.id = i, .block_bytes = Bytes::from_gib(1'000)}, Time{});
    }
}

TEST(FlowRatesTest, TheTightestResourceLimitsOneServer) {
    FlowRecorder client;
    FlowServerConfig config;
    config.share = {2 * kWhole, kWhole, 0, kWhole / 4};
    FlowServers servers({10 * kGiga, 4 * kGiga, 1, 2 * kGiga}, {config}, client);
    occupy(servers, 1);
    EXPECT_EQ(servers.rate(0).bytes_per_second, 4 * kGiga);  // 5, 4, unused, 8
    EXPECT_EQ(servers.in_use(0), 8 * kGiga);
    EXPECT_EQ(servers.in_use(1), 4 * kGiga);
    EXPECT_EQ(servers.in_use(2), 0U);
}

TEST(FlowRatesTest, EqualServersShareEquallyAndTheCappedOneLeavesTheRest) {
    FlowRecorder client;
    FlowServerConfig free;
    free.share[0] = kWhole;
    FlowServerConfig capped = free;
    capped.cap = {2 * kGiga};
    FlowServers servers({12 * kGiga, 0, 0, 0}, {free, free, capped}, client);
    occupy(servers, 0b011);
    EXPECT_EQ(servers.rate(0).bytes_per_second, 6 * kGiga);
    occupy(servers, 0b100);
    EXPECT_EQ(servers.rate(2).bytes_per_second, 2 * kGiga);
    EXPECT_EQ(servers.rate(0).bytes_per_second, 5 * kGiga);
    EXPECT_EQ(servers.rate(1).bytes_per_second, 5 * kGiga);
}

TEST(FlowRatesTest, AServerThatIsHeldElsewhereLeavesItsShare) {
    FlowRecorder client;
    FlowServerConfig narrow;
    narrow.share = {kWhole, kWhole, 0, 0};
    FlowServerConfig wide;
    wide.share = {kWhole, 0, 0, 0};
    FlowServers servers({10 * kGiga, 1 * kGiga, 0, 0}, {narrow, wide}, client);
    occupy(servers, 0b11);
    EXPECT_EQ(servers.rate(0).bytes_per_second, 1 * kGiga);
    EXPECT_EQ(servers.rate(1).bytes_per_second, 9 * kGiga);
}

TEST(FlowRatesTest, OverheadIsServedFirst) {
    FlowRecorder client;
    FlowServerConfig reader;  // needs a tenth of the other's wire
    reader.share[1] = kWhole;
    reader.overhead[0] = kWhole / 10;
    FlowServerConfig writer;
    writer.share[0] = kWhole;
    FlowServers servers({10 * kGiga, 20 * kGiga, 0, 0}, {reader, writer}, client);
    occupy(servers, 0b11);
    EXPECT_EQ(servers.rate(0).bytes_per_second, 20 * kGiga);
    EXPECT_NEAR(servers.rate(1).gb_s(), 8.0, 1e-6);
    EXPECT_LE(servers.in_use(0), 10 * kGiga);
}

TEST(FlowRatesTest, MixedShareAppliesOnlyBesideItsPartnersOrTheHost) {
    FlowRecorder client;
    FlowServerConfig writer;
    writer.share[0] = kWhole;
    writer.mixed_with = 0b10;
    writer.mixed_share[0] = kWhole;
    FlowServerConfig reader;
    reader.share[0] = kWhole;
    FlowServerConfig other = reader;
    other.cap = {1 * kGiga};
    FlowServers servers({12 * kGiga, 0, 0, 0}, {writer, reader, other}, client);
    occupy(servers, 0b101);
    EXPECT_EQ(servers.rate(0).bytes_per_second, 11 * kGiga);
    occupy(servers, 0b010);
    EXPECT_NEAR(servers.rate(0).gb_s(), 11.0 / 3, 1e-6);  // 2 w + r = 11
    EXPECT_NEAR(servers.rate(1).gb_s(), 11.0 / 3, 1e-6);

    FlowServers beside_host({12 * kGiga, 0, 0, 0}, {writer}, client);
    occupy(beside_host, 1);
    EXPECT_EQ(beside_host.rate(0).bytes_per_second, 12 * kGiga);
    beside_host.set_host_load({2 * kGiga, 0, 0, 0}, Time{});
    EXPECT_NEAR(beside_host.rate(0).gb_s(), 5.0, 1e-6);
}

TEST(FlowRatesTest, TheHostGoesFirstAndMayTakeItAll) {
    FlowRecorder client;
    FlowServerConfig config;
    config.share[0] = kWhole;
    FlowServers servers({10 * kGiga, 0, 0, 0}, {config}, client);
    occupy(servers, 1);
    servers.set_host_load({4 * kGiga, 0, 0, 0}, Time{});
    EXPECT_NEAR(servers.rate(0).gb_s(), 6.0, 1e-6);
    EXPECT_LE(servers.in_use(0), 10 * kGiga);
    servers.set_host_load({11 * kGiga, 0, 0, 0}, Time{});
    EXPECT_EQ(servers.rate(0).bytes_per_second, 0U);
    EXPECT_EQ(servers.next_end(), Time::never());
    servers.set_host_load({}, Time::from_us(1));
    EXPECT_EQ(servers.rate(0).bytes_per_second, 10 * kGiga);
}

TEST(FlowRatesTest, ALoweredCapHoldsAndARaisedOneDoesNot) {
    FlowRecorder client;
    FlowServerConfig config;
    config.share[0] = kWhole;
    FlowServers servers({10 * kGiga, 0, 0, 0}, {config}, client);
    servers.limit_cap(0, {3 * kGiga});
    servers.limit_cap(0, {5 * kGiga});
    occupy(servers, 1);
    EXPECT_EQ(servers.rate(0).bytes_per_second, 3 * kGiga);
}

TEST(FlowRatesTest, RefusesMoreServersThanItHas) {
    FlowRecorder client;
    EXPECT_THROW(FlowServers({}, std::vector<FlowServerConfig>(kFlowServers + 1), client),
                 InvariantError);
}

TEST(FlowRatesTest, NothingIsEverOverfullWhateverTheOverhead) {
    RandomStream random(8, "flow overhead");
    for (int trial = 0; trial < 2'000 && !testing::Test::HasFailure(); ++trial) {
        Capacity capacity{};
        for (std::uint64_t& c : capacity) c = random.uniform(kGiga, 100 * kGiga);
        std::vector<FlowServerConfig> configs(kFlowServers);
        for (FlowServerConfig& config : configs) {
            config.share[random.uniform(kFlowResources)] = random.uniform(kWhole / 2, 2 * kWhole);
            config.overhead[random.uniform(kFlowResources)] = random.uniform(kWhole);
        }
        FlowRecorder client;
        for (std::uint32_t mask = 1; mask < 16; ++mask) {
            FlowServers flow(capacity, configs, client);
            flow.set_host_load({0, kGiga / 2, 0, 0}, Time{});
            occupy(flow, mask);
            for (std::size_t r = 0; r < kFlowResources; ++r) {
                EXPECT_LE(flow.in_use(r), capacity[r]) << trial << " mask " << mask;
            }
        }
    }
}

/// A random set of servers without overhead, and what one of its members really uses.
struct RandomSet {
    explicit RandomSet(RandomStream& random) {
        for (std::uint64_t& c : capacity) c = random.uniform(kGiga, 100 * kGiga);
        servers.resize(random.uniform(1, kFlowServers));
        for (std::uint32_t i = 0; i < servers.size(); ++i) {
            FlowServerConfig& server = servers[i];
            for (std::size_t r = 0; r < kFlowResources; ++r) {
                if (random.uniform(2) == 0) server.share[r] = random.uniform(1, 3 * kWhole);
                if (random.uniform(3) == 0) server.mixed_share[r] = random.uniform(1, kWhole);
            }
            server.mixed_with = static_cast<std::uint32_t>(random.uniform(16)) & ~(1U << i);
            const bool unbound = server.share == FlowShare{};
            if (unbound || random.uniform(3) == 0) server.cap = {random.uniform(1, 60 * kGiga)};
        }
        for (std::uint64_t& h : host) h = random.uniform(4) == 0 ? random.uniform(kGiga) : 0;
    }

    [[nodiscard]] double share(std::uint32_t i, std::size_t r, std::uint32_t mask) const {
        const FlowServerConfig& server = servers[i];
        const bool mixed = (server.mixed_with & mask) != 0 || host != Capacity{};
        const std::uint64_t sum = server.share[r] + (mixed ? server.mixed_share[r] : 0);
        return static_cast<double>(sum) / static_cast<double>(kWhole);
    }

    Capacity capacity{};
    Capacity host{};
    std::vector<FlowServerConfig> servers;
};

/// Max-min fairness has one solution, and this marks it: nothing is over capacity, and each server
/// is at its cap or uses a full resource of which nobody gets a higher rate.
void expect_max_min(const RandomSet& set, const FlowServers& flow, std::uint32_t mask) {
    std::array<double, kFlowResources> used{};
    for (std::size_t r = 0; r < kFlowResources; ++r) {
        used[r] = static_cast<double>(set.host[r]);
        for (std::uint32_t i = 0; i < set.servers.size(); ++i) {
            used[r] += static_cast<double>(flow.rate(i).bytes_per_second) * set.share(i, r, mask);
        }
        EXPECT_LE(flow.in_use(r), std::max(set.capacity[r], set.host[r]));
        EXPECT_NEAR(static_cast<double>(flow.in_use(r)), used[r], 1e-6 * used[r] + 8);
    }
    for (std::uint32_t i = 0; i < set.servers.size(); ++i) {
        if ((mask >> i & 1U) == 0) {
            EXPECT_EQ(flow.rate(i).bytes_per_second, 0U);
            continue;
        }
        const std::uint64_t rate = flow.rate(i).bytes_per_second;
        EXPECT_LE(rate, set.servers[i].cap.bytes_per_second);
        bool held = rate == set.servers[i].cap.bytes_per_second;
        for (std::size_t r = 0; r < kFlowResources; ++r) {
            if (set.share(i, r, mask) == 0) continue;
            const auto capacity = static_cast<double>(set.capacity[r]);
            bool bottleneck = used[r] >= capacity - 1e-7 * capacity - 64;
            for (std::uint32_t j = 0; j < set.servers.size(); ++j) {
                const bool uses = set.share(j, r, mask) != 0;
                const auto slack = static_cast<double>(rate) * 1e-6 + 64;
                bottleneck =
                    bottleneck && (!uses || static_cast<double>(flow.rate(j).bytes_per_second) <=
                                                static_cast<double>(rate) + slack);
            }
            held = held || bottleneck;
        }
        EXPECT_TRUE(held) << "server " << i << " of mask " << mask << " could be faster";
    }
}

TEST(FlowRatesTest, RandomSetsGetTheMaxMinRates) {
    RandomStream random(1, "flow rates");
    for (int trial = 0; trial < 2'000 && !testing::Test::HasFailure(); ++trial) {
        const RandomSet set(random);
        FlowRecorder client;
        for (std::uint32_t mask = 1; mask < 1U << set.servers.size(); ++mask) {
            FlowServers flow(set.capacity, set.servers, client);
            flow.set_host_load(set.host, Time{});
            occupy(flow, mask);
            SCOPED_TRACE(trial);
            expect_max_min(set, flow, mask);
        }
    }
}

}  // namespace
}  // namespace kvplane
