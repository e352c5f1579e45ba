// SPDX-License-Identifier: Apache-2.0
/// A card whose DRAM serves the host's lines command by command.
#include <functional>
#include <memory>
#include <vector>

#include "host.h"
#include "model/common/errors.h"
#include "model/memory/ddr5_load.h"
#include "tests/support/systemc_test.h"
#include "tests/support/tlm_pool.h"
#include "tests/unit/model/cxl/at_initiator.h"

namespace kvplane::card {
namespace {

constexpr Bytes kBlock = Bytes::from_kib(64);

class LineDramTest : public test::SystemCTest {
protected:
    static CardConfig base() {
        CardConfig made;
        made.tier_capacity = Bytes::from_mib(256);
        made.dram_fidelity = DramFidelity::kLine;
        made.dram.channels = 1;
        return made;
    }

    /// Reads and writes of four initiators that keep `outstanding` lines each in flight, at random
    /// over `lines` lines each. In a kernel of its own. Returns the time that it takes.
    Time stream(const CardConfig& config, std::uint32_t outstanding = 16,
                std::uint64_t lines = 4096, const memory::DramThermal& thermal = {}) {
        fresh_kernel();
        m_bench = std::make_unique<Bench>(config, kBlock);
        m_bench->map();
        m_initiators.clear();
        for (std::uint64_t i = 0; i < 4; ++i) {
            cxl::AtPlan plan;
            plan.requests = 1500;
            plan.outstanding = outstanding;
            plan.lines = lines;
            plan.base = i * lines * 64;
            plan.seed = i + 1;
            m_initiators.push_back(
                std::make_unique<cxl::AtInitiator>(sc_core::sc_gen_unique_name("host"), plan));
            m_initiators.back()->socket.bind(m_bench->card.mem.socket);
        }
        if (thermal != memory::DramThermal{}) {
            sc_core::sc_start(1, sc_core::SC_PS);
            m_bench->card.set_thermal(thermal);
        }
        Bench::drain();
        for (const auto& initiator : m_initiators) EXPECT_TRUE(initiator->finished());
        return now();
    }

    std::unique_ptr<Bench> m_bench;
    std::vector<std::unique_ptr<cxl::AtInitiator>> m_initiators;
};

TEST_F(LineDramTest, EveryLineGoesToTheBanksOnce) {
    for (const cxl::LinkFidelity link : {cxl::LinkFidelity::kBurst, cxl::LinkFidelity::kLine}) {
        CardConfig config = base();
        config.mem.fidelity = link;
        stream(config);
        const memory::Ddr5Counters counters = m_bench->card.lines()->counters();
        const cxl::MemCounters& host = m_bench->card.mem.core().counters();
        EXPECT_EQ(host.reads + host.writes, 6000U);
        EXPECT_EQ(counters.requests, 6000U);
        EXPECT_EQ(counters.answers, 6000U);
        EXPECT_EQ(counters.reads + counters.forwards, host.reads);
        EXPECT_EQ(m_bench->card.lines()->in_flight(), 0U);
    }
}

/// Loosely timed and with four phases an idle read takes what an idle read takes in closed form, if
/// that has the same device.
TEST_F(LineDramTest, AnIdleReadTakesTheTimeOfTheClosedForm) {
    const auto read = [&](DramFidelity fidelity) {
        CardConfig config = base();
        config.lines.refresh = memory::DramRefreshMode::kNone;
        config.dram = memory::burst_config(line_dram(config));
        config.dram_fidelity = fidelity;
        fresh_kernel();
        m_bench = std::make_unique<Bench>(config, kBlock);
        m_bench->map();
        Bench::drain();
        std::vector<std::uint8_t> data(64);
        sc_core::sc_time delay;
        EXPECT_EQ(m_bench->host.access(tlm::TLM_READ_COMMAND, 0x10000, data, delay),
                  tlm::TLM_OK_RESPONSE);
        return from_sc_time(delay).ps;
    };
    EXPECT_NEAR(static_cast<double>(read(DramFidelity::kLine)),
                static_cast<double>(read(DramFidelity::kBurst)), 400);  // a clock
}

/// One slow channel behind a wide link: the banks bound what the host gets.
TEST_F(LineDramTest, TheDramBoundsTheHost) {
    CardConfig config = base();
    config.lines = memory::Ddr5Config::of(memory::DramPreset::kDdr4At1866M);
    constexpr std::uint64_t kLines = 1 << 19;  // 128 MiB in all
    const double seconds = static_cast<double>(stream(config, 16, kLines).ps) * 1e-12;
    const double gb_s = 6000 * 64 / seconds * 1e-9;
    memory::DramLoad load;
    load.pattern = memory::DramPattern::kRandom;
    load.span = Bytes::from_mib(128);
    load.reads = 2;
    load.writes = 1;
    const memory::DramMeasure alone = measure_dram(line_dram(config), load);
    EXPECT_LT(gb_s, memory::pin_rate(config.lines.timing, config.lines.geometry).gb_s());
    EXPECT_NEAR(gb_s, alone.reads.gb_s() + alone.writes.gb_s(), 0.05 * gb_s);
}

/// The mailbox as a host reads it.
std::vector<std::uint8_t> health(Type3Card& card) {
    return card.management.mailbox()
        .execute(static_cast<std::uint16_t>(management::Command::kGetHealth), {}, now())
        .payload;
}

TEST_F(LineDramTest, HeatSlowsTheHostDownAndIsTold) {
    const auto run = [&](const memory::DramThermal& thermal) {
        const Time taken = stream(base(), 16, 4096, thermal);
        return std::pair{taken, m_bench->card.mem.load_changes()};
    };
    const auto [cool, cool_changes] = run({});
    EXPECT_EQ(m_bench->card.events().status(), 0U) << "nothing changed";
    const auto [hot, hot_changes] = run({.double_refresh = true, .bandwidth_cap = {100'000}});
    EXPECT_GT(hot, cool * 2);
    EXPECT_GT(hot_changes, cool_changes) << "DevLoad rises with the queues";
    Type3Card& card = m_bench->card;
    ASSERT_EQ(card.events().size(management::Severity::kWarning), 1U);
    const auto record = card.events().oldest(management::Severity::kWarning, 1).front();
    EXPECT_EQ(record.event, management::MediaEvent::kHot);
    EXPECT_EQ(health(card).at(2), 1U << 2U) << "temperature warning";
    card.set_thermal({.double_refresh = true, .bandwidth_cap = {100'000}});
    EXPECT_EQ(card.events().size(management::Severity::kWarning), 1U) << "no change";
    card.set_thermal({});
    EXPECT_EQ(card.events().size(management::Severity::kInformational), 1U);
    EXPECT_EQ(health(card).at(2), 0);
    EXPECT_THROW(card.set_thermal({.bandwidth_cap = {0}}), UserError);
}

TEST_F(LineDramTest, AClosedFormHasNoTemperature) {
    CardConfig config = base();
    config.dram_fidelity = DramFidelity::kBurst;
    stream(config, 1, 64);
    EXPECT_THROW(m_bench->card.set_thermal({.double_refresh = true}), UserError);
}

/// Reads correct and have lines written anew; every so many are an event.
TEST_F(LineDramTest, CorrectedErrorsAreCountedAndTold) {
    CardConfig config = base();
    config.lines.corrected_threshold = 3;
    stream(config, 1, 64);
    Type3Card& card = m_bench->card;
    std::vector<std::uint8_t> data(64);
    const auto read = [&](std::uint64_t address) {
        sc_core::sc_time delay;
        EXPECT_EQ(m_bench->host.access(tlm::TLM_READ_COMMAND, address, data, delay),
                  tlm::TLM_OK_RESPONSE);
    };
    for (std::uint64_t i = 0; i < 7; ++i) {
        const std::uint64_t address = 0x100000 + i * 0x1040;
        card.lines()->inject_correctable({address});
        read(address);
        read(address);
    }
    Bench::drain();
    const memory::Ddr5Counters counters = card.lines()->counters();
    EXPECT_EQ(counters.corrected, 7U);
    EXPECT_EQ(counters.scrubbed, 7U);
    EXPECT_EQ(card.events().size(management::Severity::kWarning), 2U);
    const auto records = card.events().oldest(management::Severity::kWarning, 2);
    EXPECT_EQ(records[0].event, management::MediaEvent::kCorrected);
    EXPECT_EQ(records[0].address.value, 0x100000U + 2 * 0x1040U);
    EXPECT_EQ(records[1].address.value, 0x100000U + 5 * 0x1040U);
    EXPECT_EQ(health(card).at(2), 1U << 4U);
    EXPECT_EQ(health(card).at(10), 7U);
}

TEST_F(LineDramTest, DevLoadTellsOfItsQueues) {
    const auto level = [&](memory::DramPreset preset, std::uint32_t queue) {
        CardConfig config = base();
        config.lines = memory::Ddr5Config::of(preset);
        config.lines.read_queue = queue;
        stream(config, 16);
        return m_bench->card.mem.load_changes();
    };
    EXPECT_GT(level(memory::DramPreset::kDdr4At1866M, 16), 0U);
    CardConfig quiet = base();
    stream(quiet, 1);
    EXPECT_EQ(m_bench->card.mem.load_changes(), 0U);
}

struct Change {
    const char* name;
    void (*change)(CardConfig&);
};

TEST_F(LineDramTest, EachFieldMovesAResult) {
    constexpr Change kChanges[] = {
        {"preset",
         [](CardConfig& c) { c.lines = memory::Ddr5Config::of(memory::DramPreset::kDdr5At4800B); }},
        {"channels", [](CardConfig& c) { c.dram.channels = 2; }},
        {"controller", [](CardConfig& c) { c.dram.controller = Time::from_ns(25); }},
        {"ecc", [](CardConfig& c) { c.dram.ecc = memory::DramEcc::kInline; }},
        {"ranks", [](CardConfig& c) { c.lines.geometry.ranks = 2; }},
        {"interleave", [](CardConfig& c) { c.lines.interleave = {4096}; }},
        {"mapping", [](CardConfig& c) { c.lines.mapping = "row-bank-column"; }},
        {"read_queue", [](CardConfig& c) { c.lines.read_queue = 4; }},
        {"write_queue",
         [](CardConfig& c) {
             c.lines.write_queue = 8;
             c.lines.write_high = 6;
         }},
        {"write_high", [](CardConfig& c) { c.lines.write_high = 12; }},
        {"write_low", [](CardConfig& c) { c.lines.write_low = 2; }},
        {"refresh", [](CardConfig& c) { c.lines.refresh = memory::DramRefreshMode::kSameBank; }},
        {"scrub_interval", [](CardConfig& c) { c.lines.scrub_interval = Time::from_ns(100); }},
        {"double_refresh", [](CardConfig& c) { c.lines.thermal.double_refresh = true; }},
        {"bandwidth_cap", [](CardConfig& c) { c.lines.thermal.bandwidth_cap = {300'000}; }},
    };
    const Time before = stream(base());
    EXPECT_EQ(stream(base()), before);
    for (const Change& change : kChanges) {
        CardConfig config = base();
        change.change(config);
        EXPECT_NE(stream(config), before) << change.name;
    }
}

TEST_F(LineDramTest, ABankHoldsTheWholeTier) {
    CardConfig config;
    const memory::Ddr5Config lines = line_dram(config);
    EXPECT_GE(lines.capacity(), config.tier_capacity);
    EXPECT_LT(lines.capacity(), config.tier_capacity * 2);
    check(lines);
}

}  // namespace
}  // namespace kvplane::card
