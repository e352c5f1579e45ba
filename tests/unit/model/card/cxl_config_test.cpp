// SPDX-License-Identifier: Apache-2.0
/// Every field of the link, the CXL.mem front end and management moves what a host of CXL.mem sees.
#include <functional>
#include <memory>

#include "host.h"
#include "model/management/bytes.h"
#include "tests/support/systemc_test.h"
#include "tests/support/tlm_pool.h"
#include "tests/unit/model/cxl/at_initiator.h"

namespace kvplane::card {
namespace {

using management::Command;
using management::Reset;

constexpr Bytes kBlock = Bytes::from_kib(64);

/// What a host sees of one card.
struct Seen {
    std::int64_t read = 0;     ///< an idle load, ps
    std::int64_t stream = 0;   ///< 2000 reads and writes of four initiators, ps
    std::int64_t beside = 0;   ///< a load beside a promotion, ps
    std::int64_t optimal = 0;  ///< answers of a burst of 64 loads at this level or above
    std::int64_t moderate = 0;
    std::int64_t severe = 0;
    std::int64_t falls = 0;      ///< loads after the burst until the level is Light again
    std::int64_t registers = 0;  ///< a register read, ps
    std::int64_t boot = 0;       ///< from a cold reset to media ready, us
    std::int64_t command = 0;    ///< a mailbox command, us
    std::int64_t payload = 0;    ///< of the mailbox, log2
    std::int64_t decoders = 0;   ///< as the capability register says
    std::int64_t injected = 0;   ///< lines into which poison could be injected, of 300
    std::int64_t events = 0;     ///< kept of as many
};
using What = std::int64_t Seen::*;

class CxlConfigTest : public test::SystemCTest {
protected:
    static CardConfig base() {
        CardConfig made = baseline(8);
        made.tier_capacity = kBlock * 64;
        made.mem.fidelity = cxl::LinkFidelity::kLine;
        made.management.mailbox.inject_limit = 100;
        return made;
    }

    /// In a kernel of its own.
    Seen see(const std::function<void(CardConfig&)>& change) {
        fresh_kernel();
        CardConfig config = base();
        change(config);
        Bench bench(config, kBlock);
        std::vector<std::unique_ptr<cxl::AtInitiator>> initiators;
        for (std::uint64_t i = 0; i < 4; ++i) {
            cxl::AtPlan plan;
            plan.requests = 500;
            plan.lines = 64;
            plan.base = kBlock.count * (8 + i);
            plan.seed = 1 + i;
            initiators.push_back(
                std::make_unique<cxl::AtInitiator>(sc_core::sc_gen_unique_name("host"), plan));
            initiators.back()->socket.bind(bench.card.mem.socket);
        }
        Seen seen;
        sc_core::sc_start(1, sc_core::SC_PS);
        while (!std::all_of(initiators.begin(), initiators.end(),
                            [](const auto& initiator) { return initiator->finished(); })) {
            sc_core::sc_start(1, sc_core::SC_NS);
            seen.stream = now().ps;
        }
        Bench::drain();
        look_at_memory(bench, seen);
        look_at_management(bench, seen);
        return seen;
    }

private:
    static cxl::DevLoad load(Bench& bench, std::int64_t* time = nullptr) {
        std::array<unsigned char, 64> data{};
        cxl::MemExtension extension;
        tlm::tlm_generic_payload payload;
        test::set_up(payload, tlm::TLM_READ_COMMAND, 0, data.data(), 64);
        payload.set_extension(&extension);
        sc_core::sc_time delay;
        bench.host.mem->b_transport(payload, delay);
        payload.clear_extension(&extension);
        EXPECT_TRUE(payload.is_response_ok());
        if (time != nullptr) *time = from_sc_time(delay).ps;
        return extension.dev_load;
    }

    static void look_at_memory(Bench& bench, Seen& seen) {
        (void)load(bench, &seen.read);
        sc_core::sc_start(10, sc_core::SC_US);
        for (int i = 0; i < 64; ++i) {
            const auto level = static_cast<int>(load(bench));
            seen.optimal += level >= 1 ? 1 : 0;
            seen.moderate += level >= 2 ? 1 : 0;
            seen.severe += level >= 3 ? 1 : 0;
        }
        // Every load finds one less under way.
        while (load(bench) != cxl::DevLoad::kLight && seen.falls < 1'000) {
            sc_core::sc_start(5, sc_core::SC_NS);
            ++seen.falls;
        }
        Bench::drain();
        bench.load(keys_of(0, 8));
        bench.host.submit(bench.host.run(engine::Opcode::kPromote, keys_of(0, 8)));
        sc_core::sc_start(8, sc_core::SC_US);
        EXPECT_TRUE(bench.card.data_plane().movers().busy(engine::kPush));
        (void)load(bench, &seen.beside);
        Bench::drain();
    }

    static std::uint32_t read32(Bench& bench, std::uint64_t address, std::int64_t* time) {
        std::array<std::uint8_t, 4> data{};
        tlm::tlm_generic_payload payload;
        test::set_up(payload, tlm::TLM_READ_COMMAND, address, data.data(), 4);
        sc_core::sc_time delay;
        bench.management.socket->b_transport(payload, delay);
        EXPECT_TRUE(payload.is_response_ok());
        if (time != nullptr) *time = from_sc_time(delay).ps;
        return static_cast<std::uint32_t>(management::get_le(data, 0, 4));
    }
    static void write32(Bench& bench, std::uint64_t address, std::uint32_t value) {
        std::array<std::uint8_t, 4> data{};
        management::put_le(data, 0, 4, value);
        tlm::tlm_generic_payload payload;
        test::set_up(payload, tlm::TLM_WRITE_COMMAND, address, data.data(), 4);
        sc_core::sc_time delay;
        bench.management.socket->b_transport(payload, delay);
        EXPECT_TRUE(payload.is_response_ok());
    }

    static void look_at_management(Bench& bench, Seen& seen) {
        constexpr std::uint64_t kMailbox = 0x10100;
        constexpr std::uint64_t kDeviceStatus = 0x14000;
        seen.payload = read32(bench, kMailbox, &seen.registers) & 0x1F;
        seen.decoders = read32(bench, 0x1200, nullptr) & 0xF;
        for (std::uint64_t line = 0; line < 300; ++line) {
            std::vector<std::uint8_t> input;
            management::append_le(input, 8, 64 * line);
            const auto answer = bench.card.management.mailbox().execute(
                static_cast<std::uint16_t>(Command::kInjectPoison), input, now());
            seen.injected += answer.code == management::ReturnCode::kSuccess ? 1 : 0;
        }
        seen.events = static_cast<std::int64_t>(
            bench.card.events().size(management::Severity::kInformational));
        write32(bench, kMailbox + 0x08, static_cast<std::uint32_t>(Command::kIdentify));
        write32(bench, kMailbox + 0x0C, 0);
        write32(bench, kMailbox + 0x04, 1);
        while ((read32(bench, kMailbox + 0x04, nullptr) & 1U) != 0 && seen.command < 1'000) {
            sc_core::sc_start(1, sc_core::SC_US);
            ++seen.command;
        }
        bench.card.reset(Reset::kCold);
        while ((read32(bench, kDeviceStatus, nullptr) >> 2U & 3U) != 1U && seen.boot < 10'000) {
            sc_core::sc_start(1, sc_core::SC_US);
            ++seen.boot;
        }
    }
};

struct Row {
    const char* name;
    std::function<void(CardConfig&)> change;
    std::vector<What> grows;
    std::vector<What> shrinks;
    std::vector<What> stays;
};

TEST_F(CxlConfigTest, EveryFieldMovesWhatItSays) {
    using S = Seen;
    const std::vector<Row> rows{
        {"arbitration",
         [](CardConfig& c) { c.link.arbitration = cxl::Arbitration::kTlp; },
         {&S::beside},
         {},
         {&S::read, &S::stream}},
        {"packing",
         [](CardConfig& c) { c.link.packing = cxl::Packing::kNaive; },
         {&S::stream},
         {},
         {&S::beside, &S::registers}},
        {"propagation",
         [](CardConfig& c) { c.link.propagation = Time::from_ns(20); },
         {&S::read, &S::stream, &S::beside},
         {},
         {&S::registers}},
        {"retry_depth",
         [](CardConfig& c) { c.link.retry_depth = 8; },
         {&S::stream},
         {},
         {&S::read}},
        {"request_credits",
         [](CardConfig& c) { c.link.request_credits = 1; },
         {&S::stream},
         {},
         {&S::read}},
        {"write_credits",
         [](CardConfig& c) { c.link.write_credits = 1; },
         {&S::stream},
         {},
         {&S::read}},
        {"response_credits",
         [](CardConfig& c) { c.link.response_credits = 1; },
         {&S::stream},
         {},
         {&S::read}},
        {"fidelity",
         [](CardConfig& c) { c.mem.fidelity = cxl::LinkFidelity::kBurst; },
         {},
         {&S::stream},
         {&S::read}},
        {"depth",
         [](CardConfig& c) { c.mem.depth = 16; },
         {&S::stream, &S::severe},
         {},
         {&S::read}},
        {"processing",
         [](CardConfig& c) { c.mem.processing = Time::from_ns(30); },
         {&S::read, &S::stream, &S::beside},
         {},
         {&S::registers}},
        {"front_end.read",
         [](CardConfig& c) { c.mem.front_end.read = Time::from_ns(20); },
         {&S::stream},
         {},
         {&S::read, &S::registers}},
        {"front_end.write",
         [](CardConfig& c) { c.mem.front_end.write = Time::from_ns(20); },
         {&S::stream},
         {},
         {&S::read, &S::registers}},
        {"decoders",
         [](CardConfig& c) { c.mem.hdm.decoders = 8; },
         {&S::decoders},
         {},
         {&S::read, &S::stream}},
        {"optimal",
         [](CardConfig& c) { c.mem.dev_load.optimal = {180'000}; },
         {&S::optimal, &S::falls},
         {},
         {&S::moderate, &S::severe}},
        {"moderate",
         [](CardConfig& c) { c.mem.dev_load.moderate = {700'000}; },
         {},
         {&S::moderate},
         {&S::optimal, &S::severe}},
        {"severe",
         [](CardConfig& c) { c.mem.dev_load.severe = {700'000}; },
         {&S::severe},
         {},
         {&S::optimal, &S::moderate}},
        {"hysteresis",
         [](CardConfig& c) { c.mem.dev_load.hysteresis = {170'000}; },
         {&S::falls},
         {},
         {&S::optimal, &S::moderate, &S::severe}},
        {"access",
         [](CardConfig& c) { c.management.access = Time::from_us(2); },
         {&S::registers},
         {},
         {&S::read}},
        {"media_ready",
         [](CardConfig& c) { c.management.device.media_ready = Time::from_ms(3); },
         {&S::boot},
         {},
         {&S::command}},
        {"command",
         [](CardConfig& c) { c.management.device.command = Time::from_us(50); },
         {&S::command},
         {},
         {&S::boot}},
        {"payload",
         [](CardConfig& c) { c.management.mailbox.payload = 4096; },
         {&S::payload},
         {},
         {&S::command}},
        {"event_records",
         [](CardConfig& c) { c.management.mailbox.event_records = 80; },
         {&S::events},
         {},
         {&S::injected}},
        {"poison_records",
         [](CardConfig& c) { c.management.mailbox.poison_records = 70; },
         {},
         {&S::injected},
         {&S::boot}},
        {"inject_limit",
         [](CardConfig& c) { c.management.mailbox.inject_limit = 120; },
         {&S::injected},
         {},
         {&S::boot}},
    };
    const Seen was = see([](CardConfig&) {});
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        const Seen is = see(row.change);
        for (const What what : row.grows) EXPECT_GT(is.*what, was.*what);
        for (const What what : row.shrinks) EXPECT_LT(is.*what, was.*what);
        for (const What what : row.stays) EXPECT_EQ(is.*what, was.*what);
    }
}

/// More lanes share what one is too slow for, unless all lines are in one run of addresses.
TEST_F(CxlConfigTest, LanesOfTheFrontEndShareByInterleave) {
    for (const cxl::LinkFidelity fidelity : {cxl::LinkFidelity::kLine, cxl::LinkFidelity::kBurst}) {
        const auto stream = [&](std::uint32_t lanes, Bytes interleave) {
            return see([&](CardConfig& c) {
                       c.mem.fidelity = fidelity;
                       c.mem.front_end = {.lanes = lanes,
                                          .interleave = interleave,
                                          .read = Time::from_ns(20),
                                          .write = Time::from_ns(20)};
                   })
                .stream;
        };
        const std::int64_t one = stream(1, {256});
        EXPECT_NEAR(static_cast<double>(one), 2000 * 20e3, 0.02 * 2000 * 20e3) << "20 ns a line";
        EXPECT_LT(stream(4, {256}), one / 2);
        EXPECT_EQ(stream(4, Bytes::from_mib(1)), one) << "one lane has them all";
    }
}

}  // namespace
}  // namespace kvplane::card
