// SPDX-License-Identifier: Apache-2.0
/// Faults at every stage boundary of a promotion, a demotion and a move within the tier. Each row
/// is one fault at one cut point: the intent has a clear outcome, the state before or after it is
/// whole, the card goes on, and moves of others to another device are no slower.
/// `scripts/cut_points` prints the table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "host.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

using engine::Intent;
using engine::Opcode;
using engine::Status;
using management::Reset;

constexpr Bytes kBlock = Bytes::from_kib(256);
constexpr std::uint64_t kVictim = 1;
constexpr std::uint64_t kBystander = 1'000;
constexpr std::uint32_t kVictimSlot = 10;
constexpr std::uint32_t kFarSlot = 2'000;  ///< of the device that stays well

enum class Fault {
    kNone,
    kPowerLost,
    kLinkDown,
    kFunctionReset,
    kCrcStorm,
    kSramDoubleError,
    kDramPoison,
    kDeviceRefuses,
    kDeviceStalls,
    kDeviceStallsForGood
};
constexpr std::array kFaults{
    Fault::kPowerLost,     Fault::kLinkDown,        Fault::kFunctionReset,
    Fault::kCrcStorm,      Fault::kSramDoubleError, Fault::kDramPoison,
    Fault::kDeviceRefuses, Fault::kDeviceStalls,    Fault::kDeviceStallsForGood};

const char* name_of(Fault fault) {
    switch (fault) {
        case Fault::kNone:
            return "none";
        case Fault::kPowerLost:
            return "power lost";
        case Fault::kLinkDown:
            return "link down and up";
        case Fault::kFunctionReset:
            return "function reset";
        case Fault::kCrcStorm:
            return "CRC storm";
        case Fault::kSramDoubleError:
            return "SRAM double error";
        case Fault::kDramPoison:
            return "DRAM poison";
        case Fault::kDeviceRefuses:
            return "device refuses writes";
        case Fault::kDeviceStalls:
            return "device stalls";
        case Fault::kDeviceStallsForGood:
            return "device stalls for good";
    }
    return "?";
}

std::optional<Reset> reset_of(Fault fault) {
    switch (fault) {
        case Fault::kPowerLost:
            return Reset::kCold;
        case Fault::kLinkDown:
            return Reset::kHot;
        case Fault::kFunctionReset:
            return Reset::kFunction;
        default:
            return std::nullopt;
    }
}

struct Cut {
    const char* name;
    Time after;  ///< the doorbell
};

/// What became of one run with one fault.
struct Outcome {
    std::optional<Status> status;  ///< of the victim; nothing: it was never answered
    bool present = false;          ///< the victim's block, afterwards
    bool intact = true;            ///< with the bytes that it should have
    Time bystanders_p99;
};

class CutPointsTest : public test::SystemCTest {
protected:
    static CardConfig config() {
        CardConfig made = baseline(16);
        made.payload = Payload::kBytes;
        made.tier_capacity = Bytes::from_mib(16);
        made.engine.fence = engine::Fence::kReadFlush;
        made.engine.scheduler.stall_timeout = Time::from_us(300);
        return made;
    }

    /// Boundaries of the stages of one undisturbed move, from the doorbell: the card sees it after
    /// 370 ns, has the descriptor 841 ns later, and so on; the wire is held for 4.7 us.
    static std::vector<Cut> cuts(Opcode opcode) {
        std::vector<Cut> made{
            {"before the doorbell", Time::from_ns(100)},  {"doorbell seen", Time::from_ns(371)},
            {"descriptor fetched", Time::from_ns(1'212)}, {"checked", Time::from_ns(1'229)},
            {"lookup done", Time::from_ns(1'236)},        {"record read", Time::from_ns(1'293)}};
        const Time begins = opcode == Opcode::kDemote ? Time::from_ns(2'080) : Time::from_ns(1'360);
        for (const int percent : {1, 25, 50, 75, 99}) {
            static constexpr std::array kNames{"first bytes", "a quarter", "half", "three quarters",
                                               "last bytes"};
            made.push_back(
                {kNames.at(static_cast<std::size_t>(percent / 25 + (percent == 99 ? 1 : 0))),
                 begins + Time{4'770'000LL * percent / 100}});
        }
        const Time ends = begins + Time{4'840'000};
        made.push_back({"drained", ends});
        made.push_back({"in flight to the device", ends + Time::from_ns(200)});
        made.push_back({"fence under way", ends + Time::from_ns(700)});
        made.push_back({"commit", ends + Time::from_ns(1'113)});
        made.push_back({"completion under way", ends + Time::from_ns(1'300)});
        return made;
    }

    static Outcome run(Opcode opcode, Fault fault, Time cut) {
        fresh_kernel();
        Bench bench(config(), kBlock);
        prepare(bench, opcode);
        const Time begin = now();
        bench.host.done.clear();
        Intent intent = bench.host.intent(opcode, key_of(kVictim), kVictimSlot);
        if (opcode == Opcode::kReEncode) {
            intent.transfer_class = static_cast<std::uint8_t>(engine::TransferClass::kScrub);
        }
        const std::uint32_t id = bench.host.submit(intent, 0);
        std::vector<std::pair<std::uint32_t, Time>> asked;
        bool struck = false;
        // Others move small blocks to another device, one every two microseconds.
        for (Time at{}; at < Time::from_us(60); at += Time::from_us(2)) {
            if (!struck && cut < at + Time::from_us(2)) {
                run_until(begin + cut);
                strike(bench, opcode, fault);
                struck = true;
            }
            run_until(begin + at + Time::from_us(2));
            if (reset_of(fault)) continue;
            asked.emplace_back(bystander(bench, asked.size()), now());
        }
        end(bench, fault);
        Outcome outcome = judge(bench, opcode, id, fault);
        outcome.bystanders_p99 = p99(bench, asked);
        return outcome;
    }

    static void prepare(Bench& bench, Opcode opcode) {
        EXPECT_TRUE(bench.host.write_register(
            management::window_register(1, 2, management::WindowRegister::kBase),
            Host::kDevice + kFarSlot * kBlock.count));
        for (const auto& [which, value] :
             {std::pair{management::WindowRegister::kStride, kBlock.count},
              std::pair{management::WindowRegister::kSlots, std::uint64_t{1'000}}}) {
            EXPECT_TRUE(bench.host.write_register(management::window_register(1, 2, which), value));
        }
        bench.host.fill_slot(0, pattern(kVictim, kBlock));
        if (opcode != Opcode::kDemote) {
            EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kDemote, key_of(kVictim), 0)).status,
                      Status::kOk);
        } else {
            Bench::drain();
            bench.host.fill_slot(kVictimSlot, pattern(kVictim, kBlock));
        }
        for (std::uint64_t i = 0; i < 4; ++i) {
            Intent small = bench.host.intent(Opcode::kDemote, key_of(kBystander + i), 0);
            small.length_4k = 1;
            EXPECT_EQ(bench.finish(small).status, Status::kOk);
        }
    }

    static std::uint32_t bystander(Bench& bench, std::size_t n) {
        Intent small = bench.host.intent(Opcode::kPromote, key_of(kBystander + n % 4));
        small.length_4k = 1;
        small.target = engine::make_target(2, n % 500);
        return bench.host.submit(small, 1);
    }

    static void run_until(Time at) {
        if (at > now()) sc_core::sc_start(to_sc_time(at - now()));
    }

    static void strike(Bench& bench, Opcode opcode, Fault fault) {
        engine::DataPlane& plane = bench.card.data_plane();
        if (const auto reset = reset_of(fault)) {
            bench.card.reset(*reset);
            return;
        }
        switch (fault) {
            case Fault::kSramDoubleError:
                if (bench.index.table().flip(key_of(kVictim).fold(), 3)) {
                    (void)bench.index.table().flip(key_of(kVictim).fold(), 70);
                }
                break;
            case Fault::kDramPoison:
                poison(bench, opcode, true);
                break;
            case Fault::kDeviceRefuses:
                bench.host.refuses = [](std::uint64_t offset) {
                    return offset < kFarSlot * kBlock.count;
                };
                break;
            case Fault::kDeviceStalls:
            case Fault::kDeviceStallsForGood:
                plane.stall_device(0, Host::kWindow, true);
                break;
            case Fault::kCrcStorm:
                for (int replay = 0; replay < 20; ++replay) {
                    bench.card.stop_link(true);
                    sc_core::sc_start(40, sc_core::SC_NS);
                    bench.card.stop_link(false);
                    sc_core::sc_start(60, sc_core::SC_NS);
                }
                break;
            default:
                break;
        }
    }

    /// Every 64th line of the victim's room: before a demotion, bystanders have the first.
    static void poison(Bench& bench, Opcode opcode, bool poisoned) {
        const std::uint64_t first = opcode == Opcode::kDemote ? 4 * engine::kGranule.count : 0;
        for (std::uint64_t line = 0; line < kBlock.count; line += 4'096) {
            bench.card.data_plane().set_poison({first + line}, poisoned);
        }
    }

    static void end(Bench& bench, Fault fault) {
        if (fault == Fault::kDeviceStalls) {
            bench.card.data_plane().stall_device(0, Host::kWindow, false);
        }
        Bench::drain();
        bench.host.refuses = [](std::uint64_t) { return false; };
        bench.card.data_plane().stall_device(0, Host::kWindow, false);
        Bench::drain();
        if (reset_of(fault)) {
            const std::vector<Done> heard = bench.host.done;
            bench.host.set_up();
            if (fault != Fault::kFunctionReset) bench.card.map_whole();
            bench.host.done = heard;
        }
    }

    static Outcome judge(Bench& bench, Opcode opcode, std::uint32_t id, Fault fault) {
        Outcome outcome;
        for (const Done& done : bench.host.done) {
            if (done.id != id) continue;
            EXPECT_FALSE(outcome.status) << "two completions";
            outcome.status = done.status;
        }
        bench.card.data_plane().audit();
        if (fault == Fault::kDramPoison) poison(bench, opcode, false);
        if (outcome.status == Status::kOk && opcode == Opcode::kPromote) {
            outcome.intact = bench.host.slot(kVictimSlot) == pattern(kVictim, kBlock);
        }
        const Done again = bench.finish(bench.host.intent(Opcode::kPromote, key_of(kVictim), 77));
        outcome.present = again.status == Status::kOk;
        if (outcome.present) {
            outcome.intact = outcome.intact && bench.host.slot(77) == pattern(kVictim, kBlock);
        }
        // And the card takes new blocks.
        bench.host.fill_slot(5, pattern(500, kBlock));
        EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kDemote, key_of(500), 5)).status,
                  Status::kOk);
        EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kPromote, key_of(500), 6)).status,
                  Status::kOk);
        EXPECT_EQ(bench.host.slot(6), pattern(500, kBlock));
        bench.card.data_plane().audit();
        return outcome;
    }

    static Time p99(const Bench& bench, const std::vector<std::pair<std::uint32_t, Time>>& asked) {
        std::vector<Time> took;
        for (const auto& [id, at] : asked) {
            const auto done = std::find_if(bench.host.done.begin(), bench.host.done.end(),
                                           [&, id = id](const Done& d) { return d.id == id; });
            EXPECT_NE(done, bench.host.done.end()) << "a bystander was never answered";
            if (done == bench.host.done.end()) continue;
            EXPECT_EQ(done->status, Status::kOk);
            took.push_back(done->at - at);
        }
        if (took.empty()) return {};
        std::sort(took.begin(), took.end());
        return took[took.size() * 99 / 100];
    }

    /// Whether a fault may leave the intent with this outcome.
    static bool clear_outcome(Fault fault, Opcode opcode, const Outcome& outcome) {
        if (!outcome.status) return reset_of(fault).has_value();
        switch (*outcome.status) {
            case Status::kOk:
                return outcome.present || fault == Fault::kPowerLost;
            case Status::kPoisoned:
                return fault == Fault::kDramPoison && opcode != Opcode::kDemote;
            case Status::kUnknown:
                return fault == Fault::kDeviceRefuses || fault == Fault::kDeviceStallsForGood;
            default:
                return false;
        }
    }

    /// Whether the victim's block must be there afterwards.
    static bool must_be_present(Fault fault, Opcode opcode, const Outcome& outcome) {
        if (fault == Fault::kPowerLost) return false;
        return opcode != Opcode::kDemote || outcome.status == Status::kOk;
    }
};

TEST_F(CutPointsTest, OldStateOrNewStateAndAClearOutcomeAtEveryBoundary) {
    for (const Opcode opcode : {Opcode::kPromote, Opcode::kDemote, Opcode::kReEncode}) {
        const Time calm = run(opcode, Fault::kNone, Time::from_us(1)).bystanders_p99;
        for (const Fault fault : kFaults) {
            for (const Cut& cut : cuts(opcode)) {
                const Outcome outcome = run(opcode, fault, cut.after);
                const std::string row = fmt::format(
                    "{:<10} {:<24} {:<24} {:<10} block {:<8} others' p99 {:>8.3f} us",
                    engine::kOpcodeNames[static_cast<std::size_t>(opcode)], name_of(fault),
                    cut.name,
                    outcome.status ? engine::kStatusNames[static_cast<std::size_t>(*outcome.status)]
                                   : "no answer",
                    outcome.present ? "whole" : "absent", outcome.bystanders_p99.us());
                fmt::print("{}\n", row);
                EXPECT_TRUE(outcome.intact) << row;
                EXPECT_TRUE(clear_outcome(fault, opcode, outcome)) << row;
                if (must_be_present(fault, opcode, outcome)) {
                    EXPECT_TRUE(outcome.present) << row;
                }
                // A storm on the one wire is everybody's, and who comes just when a device goes on
                // may wait for what is staged for it. Else others are as fast as ever.
                const bool waits = fault == Fault::kCrcStorm || fault == Fault::kDeviceStalls;
                const Time slack = waits ? Time::from_us(3) : Time::from_ns(200);
                EXPECT_LE(outcome.bystanders_p99, calm + slack) << row;
            }
        }
    }
}

}  // namespace
}  // namespace kvplane::card
