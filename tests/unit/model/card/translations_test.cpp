// SPDX-License-Identifier: Apache-2.0
/// Addresses that need translations: what is looked up, and who is waited for when one is dropped.
#include <gtest/gtest.h>

#include <array>

#include "host.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

using engine::Fence;
using engine::Intent;
using engine::Opcode;
using management::QueueRegister;
using management::WindowRegister;
using enum engine::Status;

constexpr Bytes kBlock = Bytes::from_kib(64);

class TranslationsTest : public test::SystemCTest {
protected:
    static CardConfig config() {
        CardConfig made = baseline(16);
        made.engine.address_cache.pasid = true;
        return made;
    }
};

TEST_F(TranslationsTest, TranslationsMissOnceAPageAndAnInvalidationWaitsForWhatUsesIt) {
    CardConfig pasid = config();
    Bench bench(pasid, kBlock);
    bench.load(keys_of(0, 2));
    std::array<Time, 3> took;
    for (std::size_t i = 0; i < 3; ++i) {
        const Time begin = now();
        (void)bench.finish(bench.host.intent(Opcode::kPromote, key_of(0)));
        took.at(i) = now() - begin;
    }
    EXPECT_EQ(took[1], took[2]);
    const std::uint64_t misses = bench.card.data_plane().address_cache().counters().misses;
    const auto invalidated = [&] {
        return bench.host.read_register(management::queue_register(0, QueueRegister::kInvalidated));
    };
    bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(0)));
    sc_core::sc_start(1'300, sc_core::SC_NS);
    EXPECT_TRUE(bench.host.write_register(management::queue_register(0, QueueRegister::kInvalidate),
                                          Host::kDevice));
    sc_core::sc_start(450, sc_core::SC_NS);
    EXPECT_EQ(invalidated(), 0U) << "a write to it is under way";
    Bench::drain();
    EXPECT_EQ(invalidated(), 1U);
    const Time begin = now();
    (void)bench.finish(bench.host.intent(Opcode::kPromote, key_of(0)));
    EXPECT_GT(now() - begin, took[1] + Time::from_ns(500));
    EXPECT_EQ(bench.card.data_plane().address_cache().counters().misses, misses + 1);
}

TEST_F(TranslationsTest, EveryPageOfAnOrderIsTranslated) {
    CardConfig pasid = config();
    pasid.engine.address_cache.page = kBlock;
    Bench bench(pasid, kBlock);
    bench.load(keys_of(0, 8));
    bench.host.add_window(0, 2, kBlock, 0, Host::kSlots * kBlock.count);  // with flags
    const auto eighth = [&](WindowRegister which, std::uint64_t value, std::uint32_t shard = 0) {
        EXPECT_TRUE(
            bench.host.write_register(management::window_register(0, 3, which, shard), value));
    };
    for (std::uint32_t shard = 0; shard < 8; ++shard) {
        eighth(WindowRegister::kBase, Host::kDevice + shard * Bytes::from_gib(1).count, shard);
    }
    eighth(WindowRegister::kShards, 8);
    eighth(WindowRegister::kStride, kBlock.count);
    eighth(WindowRegister::kSlots, 1);
    const engine::AddressCacheCounters& counters =
        bench.card.data_plane().address_cache().counters();
    const auto look_ups = [&](const Intent& intent) {
        const std::uint64_t before = counters.hits + counters.misses;
        EXPECT_EQ(bench.finish(intent).status, kOk);
        return counters.hits + counters.misses - before;
    };
    const auto one = [&](std::uint32_t key, std::uint32_t slot) {
        return bench.host.intent(Opcode::kPromote, key_of(key), slot);
    };
    const auto run = [&] { return bench.host.run(Opcode::kPromote, keys_of(0, 8), 100); };
    EXPECT_EQ(look_ups(one(0, 100)), 1U + 2) << "descriptor and completion";
    EXPECT_EQ(look_ups(run()), 8U + 3) << "and the list";
    EXPECT_EQ(look_ups(through(2, run())), 8U + 4) << "and the flag";
    EXPECT_EQ(look_ups(through(3, one(0, 0))), 8U + 2);
    // A page in the middle that is not known makes a run wait, and a second look-up makes it wait
    // longer by one.
    const auto took = [&](const Intent& intent) {
        const Time begin = now();
        EXPECT_EQ(bench.finish(intent).status, kOk);
        return now() - begin;
    };
    const Time known = took(run());
    EXPECT_TRUE(bench.host.write_register(management::queue_register(0, QueueRegister::kInvalidate),
                                          Host::kDevice + 104 * kBlock.count));
    Bench::drain();
    const std::uint64_t misses = counters.misses;
    const Time missed = took(run());
    EXPECT_EQ(counters.misses, misses + 1);
    EXPECT_GT(missed, known + Time::from_ns(500));
    EXPECT_EQ(took(run()), known);
}

/// Whoever may still use a page that is dropped is waited for.
TEST_F(TranslationsTest, AnInvalidationWaitsForListsLateDeliveriesAndHeirs) {
    const auto invalidate = [](Bench& bench) {
        EXPECT_TRUE(bench.host.write_register(
            management::queue_register(0, QueueRegister::kInvalidate), Host::kDevice));
    };
    const auto invalidated = [](Bench& bench) {
        return bench.host.read_register(management::queue_register(0, QueueRegister::kInvalidated));
    };
    CardConfig pasid = config();
    {
        Bench bench(pasid, kBlock);
        bench.load(keys_of(0, 2));
        (void)bench.finish(bench.host.run(Opcode::kQuery, keys_of(0, 2)));  // pages are known
        const std::size_t heard = bench.host.done.size();
        bench.host.submit(bench.host.run(Opcode::kQuery, keys_of(0, 2)), 0);
        sc_core::sc_start(1'000, sc_core::SC_NS);
        invalidate(bench);  // seen at 1,370 ns: the list is being read
        while (bench.host.done.size() == heard) {
            EXPECT_EQ(invalidated(bench), 0U) << "a list is being read";
            sc_core::sc_start(100, sc_core::SC_NS);
        }
        EXPECT_EQ(invalidated(bench), 1U);
    }
    fresh_kernel();
    {
        CardConfig late = pasid;
        late.engine.fence = Fence::kNone;
        late.engine.device_flight = Time::from_us(50);
        Bench bench(late, kBlock);
        bench.load(keys_of(0, 1));
        const std::size_t heard = bench.host.done.size();
        bench.host.submit(bench.host.intent(Opcode::kPromote, key_of(0)), 0);
        while (bench.host.done.size() == heard) sc_core::sc_start(100, sc_core::SC_NS);
        invalidate(bench);
        sc_core::sc_start(1, sc_core::SC_US);
        EXPECT_TRUE(bench.host.arrivals.empty());
        EXPECT_EQ(invalidated(bench), 0U) << "the payload is still on its way";
        Bench::drain();
        EXPECT_EQ(invalidated(bench), 1U);
    }
    fresh_kernel();
    {
        constexpr Bytes kLong = Bytes::from_mib(4);
        Bench bench(pasid, kLong);
        bench.load(keys_of(0, 1));
        const Intent promote = bench.host.intent(Opcode::kPromote, key_of(0));
        Intent cancel = bench.host.intent(Opcode::kCancel, {});
        cancel.argument = bench.host.submit(promote, 0);
        sc_core::sc_start(5, sc_core::SC_US);
        bench.host.submit(promote, 1);
        sc_core::sc_start(5, sc_core::SC_US);
        bench.host.submit(cancel, 0);
        sc_core::sc_start(5, sc_core::SC_US);
        invalidate(bench);
        sc_core::sc_start(1, sc_core::SC_US);
        EXPECT_TRUE(bench.host.arrivals.empty());
        EXPECT_EQ(invalidated(bench), 0U) << "the other queue's promotion took the transfer over";
        Bench::drain();
        EXPECT_EQ(bench.host.arrivals.size(), 1U);
        EXPECT_EQ(invalidated(bench), 1U);
    }
}

}  // namespace
}  // namespace kvplane::card
