// SPDX-License-Identifier: Apache-2.0
#include "model/memory/ddr5_subchannel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "model/common/errors.h"
#include "model/memory/ddr5_load.h"
#include "random_traffic.h"

namespace kvplane::memory {
namespace {

constexpr DramPreset kPresets[] = {DramPreset::kDdr5At4800B, DramPreset::kDdr5At5600B,
                                   DramPreset::kDdr5At6400B, DramPreset::kDdr4At3200AA,
                                   DramPreset::kDdr4At1866M};

/// Nothing but the device: no controller delay, no ECC, no refresh.
Ddr5Config bare(DramPreset preset = DramPreset::kDdr5At4800B) {
    Ddr5Config config = Ddr5Config::of(preset);
    config.controller = {};
    config.ecc = DramEcc::kNone;
    config.refresh = DramRefreshMode::kNone;
    return config;
}

double gb_s(const DramMeasure& measure) { return measure.reads.gb_s() + measure.writes.gb_s(); }

DramLoad random_load(std::uint32_t reads = 1, std::uint32_t writes = 0) {
    DramLoad load;
    load.pattern = DramPattern::kRandom;
    load.reads = reads;
    load.writes = writes;
    load.requests = 30'000;
    return load;
}

/// One request after another, each when the last is answered.
class OneByOne {
public:
    explicit OneByOne(const Ddr5Config& config) : m_channel(config) {}

    /// Sends at a cycle's beginning and returns the cycles until the answer.
    Cycle latency(std::uint64_t line, LineOp op = LineOp::kRead) {
        m_at += 10'000;
        const Time sent = m_channel.clock().at(m_at);
        m_channel.submit(sent, {.line = line, .op = op, .tag = 7});
        Time now = sent;
        while (true) {
            m_channel.advance(now);
            if (const auto answer = m_channel.pop_answer(now)) {
                EXPECT_EQ(answer->tag, 7U);
                return m_channel.clock().first_at(answer->at) - m_at;
            }
            now = m_channel.next_event(false);
        }
    }
    Ddr5Subchannel& channel() { return m_channel; }

private:
    Ddr5Subchannel m_channel;
    Cycle m_at = 0;
};

TEST(Ddr5SubchannelTest, UnloadedLatencyIsTheFormulaAndOneCycleOfQueueing) {
    for (const DramPreset preset : kPresets) {
        const Ddr5Config config = bare(preset);
        const DramTiming& t = config.timing;
        const AddressMap map(config.mapping, config.geometry);
        OneByOne one(config);
        EXPECT_EQ(one.latency(map.line({3, 10, 5})), 1 + t.rcd + t.cl + t.burst) << "closed";
        EXPECT_EQ(one.latency(map.line({3, 10, 6})), 1 + t.cl + t.burst) << "hit";
        EXPECT_EQ(one.latency(map.line({3, 11, 6})), 1 + t.rp + t.rcd + t.cl + t.burst)
            << "conflict";
        EXPECT_EQ(one.latency(map.line({4, 11, 6})), 1 + t.rcd + t.cl + t.burst)
            << "another bank, closed";
    }
}

TEST(Ddr5SubchannelTest, TheControllerDelaysEveryAnswer) {
    Ddr5Config config = bare();
    const AddressMap map(config.mapping, config.geometry);
    config.controller = Time::from_ns(20);
    Ddr5Subchannel channel(config);
    channel.submit({}, {.line = 0});
    const Time at = channel.clock().at(1 + 39 + 40 + 8) + Time::from_ns(20);
    channel.advance(at);
    EXPECT_FALSE(channel.pop_answer(at - Time{1}).has_value());
    EXPECT_TRUE(channel.pop_answer(at).has_value());
    channel.submit(Time::from_us(1), {.line = 1, .op = LineOp::kRead, .tag = 3});
    EXPECT_EQ(channel.take_answer(3), channel.clock().at(2400 + 1 + 40 + 8) + Time::from_ns(20));
    EXPECT_FALSE(channel.pop_answer(Time::from_us(9)).has_value()) << "it is taken";
}

TEST(Ddr5SubchannelTest, LookingMoreOftenChangesNothing) {
    for (const DramEcc ecc : {DramEcc::kNone, DramEcc::kSideband, DramEcc::kInline}) {
        for (const DramRefreshMode mode : {DramRefreshMode::kAllBank, DramRefreshMode::kSameBank}) {
            Ddr5Config config;
            config.ecc = ecc;
            config.refresh = mode;
            config.geometry.ranks = mode == DramRefreshMode::kSameBank ? 2 : 1;
            config.scrub_interval = Time::from_us(3);
            test::RandomTraffic lazy(config, 5);
            test::RandomTraffic eager(config, 5, nullptr, Time::from_ns(7));
            EXPECT_EQ(lazy.run(6'000), eager.run(6'000));
            EXPECT_EQ(lazy.digest(), eager.digest());
            EXPECT_EQ(lazy.channel().counters().activates, eager.channel().counters().activates);
        }
    }
}

TEST(Ddr5SubchannelTest, EveryRequestIsAnsweredOnce) {
    std::uint64_t seed = 0;
    for (const DramPreset preset : kPresets) {
        for (const DramEcc ecc : {DramEcc::kNone, DramEcc::kSideband, DramEcc::kInline}) {
            Ddr5Config config = Ddr5Config::of(preset);
            config.ecc = ecc;
            config.read_queue = ecc == DramEcc::kNone ? 2 : 24;
            test::RandomTraffic traffic(config, ++seed);
            traffic.run(8'000);
            traffic.channel().advance(Time::from_s(1000));
            const Ddr5Counters& c = traffic.channel().counters();
            EXPECT_EQ(c.requests, 8'000U);
            EXPECT_EQ(c.answers, 8'000U);
            EXPECT_TRUE(traffic.channel().idle()) << "writes reach the banks in the end";
        }
    }
}

TEST(Ddr5SubchannelTest, BandwidthNeverExceedsThePins) {
    for (const DramPreset preset : kPresets) {
        Ddr5Config config = bare(preset);
        config.read_queue = 256;
        config.write_queue = 256;
        const double pins = pin_rate(config.timing, config.geometry).gb_s();
        for (const DramPattern pattern : {DramPattern::kSequential, DramPattern::kRandom}) {
            for (const std::uint32_t writes : {0U, 1U, 3U}) {
                DramLoad load = random_load(writes == 3 ? 0 : 1, writes);
                load.pattern = pattern;
                const DramMeasure measure = measure_dram(config, load);
                EXPECT_LE(gb_s(measure), pins * 1.0001) << to_string(preset);
                EXPECT_GT(gb_s(measure), pins * 0.3) << to_string(preset);
                EXPECT_EQ(measure.answers, measure.requests);
            }
        }
    }
}

TEST(Ddr5SubchannelTest, AReadOfAWaitingWriteIsAnsweredFromTheQueue) {
    Ddr5Subchannel channel(bare());
    channel.submit({}, {.line = 1, .op = LineOp::kRead, .tag = 1});
    channel.submit({}, {.line = 9, .op = LineOp::kWrite, .tag = 2});
    channel.submit({}, {.line = 9, .op = LineOp::kRead, .tag = 3});
    channel.submit({}, {.line = 9, .op = LineOp::kWrite, .tag = 4});
    channel.advance(Time::from_us(1));
    EXPECT_EQ(channel.counters().forwards, 1U);
    EXPECT_EQ(channel.counters().joined, 1U);
    EXPECT_EQ(channel.counters().reads, 1U);
    EXPECT_EQ(channel.counters().writes, 1U);
    std::uint32_t answers = 0;
    while (channel.pop_answer(Time::from_us(1))) ++answers;
    EXPECT_EQ(answers, 4U);
}

TEST(Ddr5SubchannelTest, APartialWriteReadsFirstWhereCheckBitsCoverTheLine) {
    for (const DramEcc ecc : {DramEcc::kNone, DramEcc::kSideband, DramEcc::kInline}) {
        Ddr5Config config = bare();
        config.ecc = ecc;
        Ddr5Subchannel channel(config);
        for (std::uint32_t i = 0; i < 8; ++i) {
            channel.submit(Time::from_us(i),
                           {.line = 8 + i, .op = LineOp::kPartialWrite, .tag = i});
        }
        channel.advance(Time::from_us(100));
        const Ddr5Counters& c = channel.counters();
        EXPECT_EQ(c.modifies, ecc == DramEcc::kNone ? 0U : 8U);
        EXPECT_EQ(c.ecc_reads, ecc == DramEcc::kInline ? 1U : 0U) << "eight lines share one";
        EXPECT_EQ(c.reads, c.modifies + c.ecc_reads);
        EXPECT_EQ(c.writes, 8U);
    }
}

TEST(Ddr5SubchannelTest, InlineEccCostsBandwidth) {
    Ddr5Config config = bare();
    DramLoad stream = random_load();
    stream.pattern = DramPattern::kSequential;
    const double plain = gb_s(measure_dram(config, stream));
    const double scattered = gb_s(measure_dram(config, random_load()));
    config.ecc = DramEcc::kSideband;
    EXPECT_EQ(gb_s(measure_dram(config, stream)), plain);
    config.ecc = DramEcc::kInline;
    const DramMeasure measure = measure_dram(config, stream);
    EXPECT_NEAR(static_cast<double>(measure.counters.ecc_reads),
                static_cast<double>(measure.requests) / 8, 2);
    EXPECT_LE(gb_s(measure), plain * 8 / 9 * 1.001) << "a ninth of the lines are check bits";
    EXPECT_GT(gb_s(measure), plain * 0.78);
    EXPECT_NEAR(gb_s(measure_dram(config, random_load())), scattered / 2, scattered * 0.06);
    const DramMeasure writes = measure_dram(config, random_load(0, 1));
    EXPECT_NEAR(static_cast<double>(writes.counters.ecc_writes),
                static_cast<double>(writes.requests), 100.0)
        << "each scattered write brings a line of check bits in and another out";
}

TEST(Ddr5SubchannelTest, ARowHitDoesNotPassARequestForEver) {
    // A stream of hits to one row, and one read of another row of that bank.
    const auto waits = [](Time starvation) {
        Ddr5Config config = bare();
        config.starvation = starvation;
        const AddressMap map(config.mapping, config.geometry);
        Ddr5Subchannel channel(config);
        Time now{};
        std::uint32_t tag = 1;
        Time answered{};
        while (now < Time::from_us(40) && answered == Time{}) {
            channel.advance(now);
            while (const auto answer = channel.pop_answer(now)) {
                if (answer->tag == 0) answered = answer->at;
            }
            while (channel.can_accept(LineOp::kRead)) {
                if (tag == 10) channel.submit(now, {map.line({0, 2, 0}), LineOp::kRead, 0});
                const std::uint32_t column = tag % config.geometry.lines_per_row;
                if (!channel.can_accept(LineOp::kRead)) break;
                channel.submit(now, {map.line({0, 1, column}), LineOp::kRead, tag++});
            }
            now = channel.next_event(true);
        }
        return answered;
    };
    const Time soon = waits(Time::from_ns(500));
    const Time late = waits(Time::from_us(4));
    EXPECT_GT(soon, Time::from_ns(500));
    EXPECT_LT(soon, Time::from_ns(900));
    EXPECT_GT(late, Time::from_us(4));
    EXPECT_LT(late, Time::from_us(5));
}

/// When a read is answered among writes at random that never let up.
Time read_among_writes(const Ddr5Config& config) {
    Ddr5Subchannel channel(config);
    RandomStream random(3, "writes");
    Time now{};
    std::uint32_t tag = 1;
    while (now < Time::from_us(200)) {
        channel.advance(now);
        while (const auto answer = channel.pop_answer(now)) {
            if (answer->tag == 0) return answer->at;
        }
        while (channel.can_accept(LineOp::kWrite)) {
            const std::uint64_t line = random.uniform(config.data_lines());
            channel.submit(now, {line, LineOp::kWrite, tag++});
            if (tag == 100) channel.submit(now, {77, LineOp::kRead, 0});
        }
        now = channel.next_event(true);
    }
    return now;
}

TEST(Ddr5SubchannelTest, AReadWaitsNoLongerThanItMayBehindWrites) {
    Ddr5Config config = bare();
    config.write_queue = 1024;
    config.write_high = 1000;
    config.starvation = Time::from_us(1);
    EXPECT_LT(read_among_writes(config), Time::from_us(2));
    config.starvation = Time::from_us(10);
    EXPECT_GT(read_among_writes(config), Time::from_us(3)) << "a thousand writes";
}

/// Writes that come during a batch do not prolong it while a read waits.
TEST(Ddr5SubchannelTest, AReadWaitsForOneBatchOfWrites) {
    Ddr5Config config = bare();
    config.starvation = Time::from_us(100);
    const Time batch = read_among_writes(config);
    EXPECT_LT(batch, Time::from_us(3));
    config.write_queue = 512;
    config.write_high = 500;
    const Time longer = read_among_writes(config);
    EXPECT_GT(longer, batch * 2);
    EXPECT_LT(longer, Time::from_us(40));
}

/// A full queue of reads keeps no write waiting, nor the other way round.
TEST(Ddr5SubchannelTest, QueuesFillApart) {
    for (const bool reads : {true, false}) {
        const Ddr5Config config = bare();
        Ddr5Subchannel channel(config);
        const LineOp full = reads ? LineOp::kRead : LineOp::kWrite;
        const LineOp other = reads ? LineOp::kWrite : LineOp::kRead;
        std::uint32_t taken = 0;
        for (; channel.can_accept(full); ++taken) channel.submit({}, {taken, full, taken});
        EXPECT_GE(taken, 31U);
        EXPECT_TRUE(channel.can_accept(other));
    }
}

TEST(Ddr5SubchannelTest, IdleTimeNeedsNoEventsAndLosesNoRefresh) {
    for (const DramRefreshMode mode :
         {DramRefreshMode::kAllBank, DramRefreshMode::kFineAllBank, DramRefreshMode::kSameBank}) {
        Ddr5Config config;
        config.refresh = mode;
        config.geometry.ranks = 2;
        config.scrub_interval = Time::from_us(100);
        Ddr5Subchannel channel(config);
        EXPECT_EQ(channel.next_event(false), Time::never());
        channel.submit(Time::from_us(1), {.line = 5});
        EXPECT_LT(channel.take_answer(0), Time::from_us(2));
        EXPECT_EQ(channel.next_event(false), Time::never());
        const Time end = Time::from_s(7);
        channel.advance(end);
        const auto expected =
            static_cast<double>(2 * channel.clock().last_at(end) / config.refresh_interval());
        EXPECT_NEAR(static_cast<double>(channel.counters().refreshes), expected, 3);
        EXPECT_EQ(channel.counters().scrubs, 70'000U);
    }
}

TEST(Ddr5SubchannelTest, AReadDuringARefreshWaitsForItsEnd) {
    Ddr5Config config = bare();
    config.refresh = DramRefreshMode::kAllBank;
    OneByOne one(config);  // sends at 10,000: the refresh of 9360 is over at 10,068
    EXPECT_EQ(one.latency(0), 68 + 39 + 40 + 8);
    config.refresh = DramRefreshMode::kSameBank;
    OneByOne same(config);  // the set refreshed at 9360 is the last of four; free at 9672
    EXPECT_EQ(same.latency(0), 1 + 39 + 40 + 8);
}

TEST(Ddr5SubchannelTest, ScrubTakesItsShareOfTheBandwidth) {
    Ddr5Config config = bare();
    const double without = gb_s(measure_dram(config, random_load()));
    config.scrub_interval = Time::from_ns(200);  // a line in 60
    const DramMeasure with = measure_dram(config, random_load());
    EXPECT_NEAR(static_cast<double>(with.counters.scrubs),
                static_cast<double>(with.duration.ps) / 200'000, 60);
    EXPECT_LT(gb_s(with), without * 0.992);
}

TEST(Ddr5SubchannelTest, ScrubsAndShortQueuesAgree) {
    for (const std::uint32_t depth : {2U, 4U, 7U}) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            Ddr5Config config;
            config.read_queue = depth;
            config.scrub_interval = Time::from_ns(100);
            test::RandomTraffic traffic(config, seed);
            ASSERT_NO_THROW(traffic.run(1'000)) << depth << ", seed " << seed;
        }
    }
}

TEST(Ddr5SubchannelTest, HeatDoublesRefreshesAndCapsBandwidth) {
    Ddr5Config config;
    const DramMeasure cool = measure_dram(config, random_load());
    config.thermal.double_refresh = true;
    const DramMeasure warm = measure_dram(config, random_load());
    const auto per_time = [](const DramMeasure& m) {
        return static_cast<double>(m.counters.refreshes) / static_cast<double>(m.duration.ps);
    };
    EXPECT_NEAR(per_time(warm) / per_time(cool), 2, 0.1);
    EXPECT_LT(gb_s(warm), gb_s(cool) * 0.94);
    for (const std::uint32_t percent : {10U, 33U, 50U}) {
        config.thermal.bandwidth_cap = {percent * 10'000};
        const double capped = gb_s(measure_dram(config, random_load()));
        EXPECT_LE(capped, 19.2 * percent / 100);
        EXPECT_GT(capped, 19.2 * percent / 100 * 0.78);
    }
}

/// Stops a simulation that gives commands and serves nothing.
class CommandLimit final : public DramObserver {
public:
    explicit CommandLimit(std::uint64_t most) : m_left(most) {}
    void command(const DramCommand&) override {
        if (m_left-- == 0) throw std::runtime_error("no end of commands");
    }

private:
    std::uint64_t m_left;
};

/// A parameter drawn near its least value, near the preset's, or anywhere up to 4,096.
Cycle draw(RandomStream& random, Cycle preset) {
    switch (random.uniform(4)) {
        case 0:
            return 1 + static_cast<Cycle>(random.uniform(8));
        case 1:
            return 1 + static_cast<Cycle>(random.uniform(4'096));
        default:
            return 1 + static_cast<Cycle>(random.uniform(2 * static_cast<std::uint64_t>(preset)));
    }
}

/// Whatever timing passes check(), however near to its limits, answers every request.
TEST(Ddr5SubchannelTest, EveryLegalTimingMakesProgress) {
    RandomStream random(5, "timings");
    std::uint32_t legal = 0;
    for (std::uint32_t trial = 0; trial < 400'000 && legal < 400; ++trial) {
        Ddr5Config config = Ddr5Config::of(kPresets[random.uniform(5)]);
        DramTiming& t = config.timing;
        const std::uint64_t changed = 1 + random.uniform(8);
        for (std::uint64_t i = 0; i < changed; ++i) {
            const DramTimingField& f = kDramTimingFields[random.uniform(kDramTimingFields.size())];
            t.*f.field = draw(random, t.*f.field + 1);
        }
        if (random.uniform(2) == 0) t.ras = t.rcd;
        if (random.uniform(2) == 0) t.rc = t.ras + t.rp;
        config.geometry.ranks = 1U << random.uniform(3);
        config.refresh = static_cast<DramRefreshMode>(random.uniform(3));
        if (random.uniform(2) == 0) {  // as often as can be
            Cycle& interval = config.refresh == DramRefreshMode::kAllBank ? t.refi1 : t.refi2;
            const Cycle unit =
                config.refresh == DramRefreshMode::kSameBank ? config.geometry.banks : 1;
            const Cycle least =
                config.refresh_time() + 2 * t.command_long +
                std::max(t.rc, t.rcd + std::max(t.rtp, t.cwl + t.burst + t.wr) + t.rp);
            interval = unit * (least + 1 - static_cast<Cycle>(random.uniform(2)));
        }
        try {
            check(config);
        } catch (const UserError&) {
            continue;
        }
        ++legal;
        CommandLimit limit(3'000'000);
        test::RandomTraffic traffic(config, trial, &limit);
        std::string timing;
        for (const DramTimingField& f : kDramTimingFields) {
            timing += std::string(f.name) + ' ' + std::to_string(t.*f.field) + ' ';
        }
        ASSERT_NO_THROW(traffic.run(300)) << timing;
    }
    EXPECT_EQ(legal, 400U);
}

/// A row that must stay open just as long as it takes to reach a column, and refreshes as often as
/// check() allows: the column goes first.
TEST(Ddr5SubchannelTest, ARefreshDoesNotCloseARowBeforeItHasServed) {
    Ddr5Config config = bare(DramPreset::kDdr5At5600B);
    config.refresh = DramRefreshMode::kAllBank;
    config.timing.rcd = config.timing.ras;
    Cycle& interval = config.timing.refi1;
    for (interval = config.timing.rfc1;; ++interval) {
        try {
            check(config);
            break;
        } catch (const UserError&) {
        }
    }
    CommandLimit limit(200'000);
    test::RandomTraffic traffic(config, 1, &limit);
    EXPECT_NO_THROW(traffic.run(5'000));
    const auto refreshes = static_cast<Cycle>(traffic.channel().counters().refreshes);
    EXPECT_GT(refreshes, 100);
}

TEST(Ddr5SubchannelTest, TheTemperatureMayChangeMeanwhile) {
    Ddr5Subchannel channel(Ddr5Config{});
    channel.advance(Time::from_ms(1));
    const std::uint64_t cool = channel.counters().refreshes;
    channel.set_thermal(Time::from_ms(1), {.double_refresh = true});
    channel.advance(Time::from_ms(2));
    EXPECT_NEAR(static_cast<double>(channel.counters().refreshes), static_cast<double>(3 * cool),
                3);
    EXPECT_THROW(channel.set_thermal(Time::from_ms(3), {.bandwidth_cap = {0}}), UserError);
}

TEST(Ddr5SubchannelTest, MoreThanItHoldsIsABrokenInvariant) {
    Ddr5Subchannel channel(bare());
    for (std::uint32_t i = 0; channel.can_accept(LineOp::kRead); ++i) {
        channel.submit({}, {.line = i, .op = LineOp::kRead, .tag = i});
    }
    EXPECT_THROW(channel.submit({}, {.line = 99}), InvariantError);
    EXPECT_THROW(Ddr5Subchannel(bare()).submit({}, {.line = bare().data_lines()}), InvariantError);
}

}  // namespace
}  // namespace kvplane::memory
