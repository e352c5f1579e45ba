// SPDX-License-Identifier: Apache-2.0
/// The tier: reservations, a full index, and what bit errors in index and records do.
#include "model/engine/tier.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <vector>

#include "model/common/errors.h"
#include "model/common/random.h"
#include "model/index/tlm_index.h"

namespace kvplane::engine {
namespace {

constexpr Time kLineTime = Time::from_ns(57);
constexpr Bytes kBlock = Bytes::from_kib(64);
constexpr TenantId kTenant = 3;

block::BlockKey key_of(std::uint64_t n) { return {mix64(n + 1), n}; }

/// A tier of 64 KiB blocks with DRAM that answers a line after 57 ns.
class Bench final : private index::RecordReader {
public:
    explicit Bench(std::uint64_t blocks, const index::IndexConfig& config = {})
        : index(config), tier({.capacity = kBlock * blocks}, index, *this) {
        index.bind(*this);
    }
    /// A block that is there.
    TierFrame store(std::uint64_t n) {
        const Tier::Reservation made = tier.reserve(key_of(n), kBlock, kTenant, at());
        EXPECT_EQ(made.room, Tier::Room::kYes) << n;
        EXPECT_TRUE(tier.commit(key_of(n), made.frame, at()));
        return made.frame;
    }
    /// Two wrong bits in the entry of block `n`.
    void destroy(std::uint64_t n) {
        ASSERT_TRUE(index.table().flip(key_of(n).fold(), 7)) << n;
        ASSERT_TRUE(index.table().flip(key_of(n).fold(), 40));
    }
    /// A microsecond after the last.
    Time at() { return m_at += Time::from_us(1); }

    index::TlmIndex index;
    Tier tier;

private:
    Time read_record_line(Time at, std::uint64_t /*line*/) override { return at + kLineTime; }
    std::optional<block::BlockKey> key_of(std::uint32_t frame) override {
        return tier.key_of({frame});
    }
    static block::BlockKey key_of(std::uint64_t n) { return engine::key_of(n); }

    Time m_at;
};

TEST(TierTest, ABlockOnItsWayInIsTakenAndNotThere) {
    Bench bench(4);
    const Tier::Reservation made = bench.tier.reserve(key_of(1), kBlock, kTenant, Time::from_us(1));
    EXPECT_EQ(made.room, Tier::Room::kYes);
    EXPECT_EQ(made.issued, Time::from_us(1));
    EXPECT_EQ(made.record_done, Time::from_ns(1'006));
    const Tier::Found coming = bench.tier.find(key_of(1), kTenant, bench.at());
    EXPECT_FALSE(coming.present);
    EXPECT_TRUE(coming.taken);
    EXPECT_EQ(bench.tier.reserve(key_of(1), kBlock, kTenant, bench.at()).room, Tier::Room::kTaken);
    bench.tier.audit();
    bench.tier.abandon(key_of(1), made.frame, bench.at());
    EXPECT_FALSE(bench.tier.find(key_of(1), kTenant, bench.at()).taken);
    EXPECT_EQ(bench.tier.blocks(), 0U);

    const TierFrame frame = bench.store(1);
    const Tier::Found there = bench.tier.find(key_of(1), kTenant, bench.at());
    EXPECT_TRUE(there.present);
    EXPECT_FALSE(there.taken);
    EXPECT_EQ(there.frame.record, frame.record);
    EXPECT_EQ(bench.tier.reserve(key_of(1), kBlock, kTenant, bench.at()).room, Tier::Room::kTaken);
    bench.tier.audit();
}

TEST(TierTest, AFullTierHasNoRoomAndStillKnowsWhatItHas) {
    Bench bench(2);
    (void)bench.store(1);
    const Tier::Reservation coming = bench.tier.reserve(key_of(2), kBlock, kTenant, bench.at());
    EXPECT_EQ(bench.tier.reserve(key_of(3), kBlock, kTenant, bench.at()).room, Tier::Room::kNo);
    EXPECT_EQ(bench.tier.reserve(key_of(2), kBlock, kTenant, bench.at()).room, Tier::Room::kTaken);
    EXPECT_EQ(bench.tier.reserve(key_of(1), kBlock, kTenant, bench.at()).room, Tier::Room::kTaken);
    EXPECT_TRUE(bench.tier.commit(key_of(2), coming.frame, bench.at()));
    EXPECT_EQ(bench.tier.counters().index_full, 0U);
    bench.tier.audit();
}

TEST(TierTest, AFullIndexRefusesAndWhatIsThereStays) {
    Bench bench(400, {.sram = Bytes::from_kib(4), .stash = 1, .overflow = index::Overflow::kNone});
    std::map<std::uint64_t, TierFrame> held;
    std::uint64_t refused = 0;
    for (std::uint64_t n = 0; n < 400; ++n) {
        const Tier::Reservation made = bench.tier.reserve(key_of(n), kBlock, kTenant, bench.at());
        if (made.room == Tier::Room::kNo) {
            ++refused;
            continue;
        }
        EXPECT_TRUE(bench.tier.commit(key_of(n), made.frame, bench.at()));
        held[n] = made.frame;
        // Some make room again.
        if (n % 7 != 0) continue;
        const auto [victim, frame] = *held.begin();
        Time done;
        EXPECT_EQ(bench.tier.discard(key_of(victim), frame, bench.at(), done),
                  Tier::Discarded::kDone);
        held.erase(victim);
    }
    EXPECT_GT(refused, 50U);
    EXPECT_EQ(bench.tier.counters().index_full, refused);
    EXPECT_EQ(bench.tier.blocks(), held.size());
    bench.tier.audit();
    for (std::uint64_t n = 0; n < 400; ++n) {
        const Tier::Found found = bench.tier.find(key_of(n), kTenant, bench.at());
        ASSERT_EQ(found.present, held.count(n) == 1) << n;
        if (found.present) {
            ASSERT_EQ(found.frame.record, held.at(n).record);
        }
    }
}

TEST(TierTest, OneWrongBitIsCorrectedAndCounted) {
    Bench bench(100);
    for (std::uint64_t n = 0; n < 100; ++n) (void)bench.store(n);
    for (std::uint64_t n = 0; n < 100; ++n) {
        ASSERT_TRUE(bench.index.table().flip(key_of(n).fold(), static_cast<std::uint32_t>(n)));
        ASSERT_TRUE(bench.tier.find(key_of(n), kTenant, bench.at()).present);
    }
    EXPECT_GE(bench.index.ecc().corrected, 100U);
    EXPECT_EQ(bench.index.ecc().uncorrectable, 0U);
    EXPECT_EQ(bench.tier.counters().rebuilds, 0U);
}

TEST(TierTest, ALostEntryComesBackWhateverMeetsIt) {
    using Meet = std::function<void(Bench&, TierFrame)>;
    const std::vector<Meet> meets{
        [](Bench& bench, TierFrame frame) {
            const Tier::Found found = bench.tier.find(key_of(5), kTenant, bench.at());
            EXPECT_TRUE(found.present);
            EXPECT_EQ(found.frame.record, frame.record);
        },
        [](Bench& bench, TierFrame) {
            EXPECT_EQ(bench.tier.reserve(key_of(5), kBlock, kTenant, bench.at()).room,
                      Tier::Room::kTaken);
        },
        [](Bench& bench, TierFrame frame) {
            bench.tier.end_read(key_of(5), frame, bench.at());
            bench.tier.begin_read(frame);
        }};
    for (const Meet& meet : meets) {
        Bench bench(100);
        TierFrame frame;
        for (std::uint64_t n = 0; n < 50; ++n) {
            const TierFrame stored = bench.store(n);
            if (n == 5) frame = stored;
        }
        bench.tier.begin_read(frame);
        bench.destroy(5);
        meet(bench, frame);
        EXPECT_EQ(bench.tier.counters().rebuilds, 1U);
        EXPECT_EQ(bench.tier.counters().rebuilt, 1U);
        EXPECT_EQ(bench.tier.counters().lost_blocks, 0U);
        EXPECT_EQ(bench.index.ecc().lost, 1U);
        EXPECT_TRUE(bench.tier.find(key_of(5), kTenant, bench.at()).present);
        bench.tier.end_read(key_of(5), frame, bench.at());
        bench.destroy(5);
        Time done;
        EXPECT_EQ(bench.tier.discard(key_of(5), frame, bench.at(), done), Tier::Discarded::kDone);
        EXPECT_EQ(bench.tier.counters().rebuilt, 2U);
        EXPECT_FALSE(bench.tier.find(key_of(5), kTenant, bench.at()).present);
        bench.tier.audit();
    }
}

TEST(TierTest, WhoMeetsALostEntryWaitsUntilAllRecordsAreRead) {
    Bench bench(100);
    for (std::uint64_t n = 0; n < 50; ++n) (void)bench.store(n);
    bench.destroy(5);
    const Time at = bench.at();
    const Tier::Found found = bench.tier.find(key_of(5), kTenant, at);
    // Lookup; record, lookup, insert; lookup again. And the record that confirms it.
    EXPECT_GE(found.lookup_done, at + Time::from_ns(4 * 6) + kLineTime);
    EXPECT_EQ(found.record_done, found.lookup_done + kLineTime);
    EXPECT_GT(bench.tier.find(key_of(6), kTenant, at).lookup_done, found.lookup_done)
        << "behind him";
}

TEST(TierTest, ABlockOnItsWayInWhoseEntryIsLostIsStillOnItsWayIn) {
    Bench bench(10);
    (void)bench.store(1);
    const Tier::Reservation made = bench.tier.reserve(key_of(2), kBlock, kTenant, bench.at());
    bench.destroy(2);
    const Tier::Found found = bench.tier.find(key_of(2), kTenant, bench.at());
    EXPECT_FALSE(found.present) << "its payload is not there yet";
    EXPECT_TRUE(found.taken);
    bench.destroy(2);
    EXPECT_TRUE(bench.tier.commit(key_of(2), made.frame, bench.at()));
    EXPECT_TRUE(bench.tier.find(key_of(2), kTenant, bench.at()).present);
    EXPECT_EQ(bench.tier.counters().rebuilt, 2U);
    const Tier::Reservation third = bench.tier.reserve(key_of(3), kBlock, kTenant, bench.at());
    bench.destroy(3);
    bench.tier.abandon(key_of(3), third.frame, bench.at());
    EXPECT_FALSE(bench.tier.find(key_of(3), kTenant, bench.at()).taken);
    bench.tier.audit();
}

TEST(TierTest, ABlockWithABrokenRecordIsMissingAndItsFrameFree) {
    for (const bool entry_too : {false, true}) {
        for (const std::uint32_t bit : {3U, 100U, 150U, 323U, 390U, 450U}) {
            Bench bench(10);
            (void)bench.store(1);
            const TierFrame frame = bench.store(2);
            bench.tier.flip_record(frame, bit);
            if (entry_too) bench.destroy(2);
            const Tier::Found found = bench.tier.find(key_of(2), kTenant, bench.at());
            EXPECT_FALSE(found.present || found.taken) << bit;
            EXPECT_EQ(bench.tier.counters().lost_blocks, 1U);
            EXPECT_EQ(bench.tier.counters().rebuilt, 0U);
            // Without an entry nobody knows whose frame it was.
            EXPECT_EQ(bench.tier.blocks(), entry_too ? 2U : 1U);
            bench.tier.audit();
            (void)bench.store(2);
            EXPECT_TRUE(bench.tier.find(key_of(2), kTenant, bench.at()).present);
            EXPECT_TRUE(bench.tier.find(key_of(1), kTenant, bench.at()).present);
        }
    }
}

TEST(TierTest, ALostBlockKeepsItsFrameUntilTheLastTransferIsOver) {
    Bench bench(10);
    const TierFrame frame = bench.store(1);
    bench.tier.begin_read(frame);
    bench.tier.begin_read(frame);
    bench.tier.flip_record(frame, 17);
    const Tier::Found found = bench.tier.find(key_of(1), kTenant, bench.at());
    EXPECT_FALSE(found.present);
    EXPECT_TRUE(found.taken);
    EXPECT_EQ(bench.tier.reserve(key_of(1), kBlock, kTenant, bench.at()).room, Tier::Room::kTaken);
    bench.tier.audit();
    bench.tier.end_read(key_of(1), frame, bench.at());
    EXPECT_EQ(bench.tier.blocks(), 1U);
    bench.tier.end_read(key_of(1), frame, bench.at());
    EXPECT_EQ(bench.tier.blocks(), 0U);
    EXPECT_FALSE(bench.tier.find(key_of(1), kTenant, bench.at()).taken);
    bench.tier.audit();
    // The same of one that is on its way in: it does not arrive.
    const Tier::Reservation made = bench.tier.reserve(key_of(2), kBlock, kTenant, bench.at());
    bench.tier.flip_record(made.frame, 17);
    EXPECT_TRUE(bench.tier.find(key_of(2), kTenant, bench.at()).taken);
    EXPECT_FALSE(bench.tier.commit(key_of(2), made.frame, bench.at()));
    EXPECT_EQ(bench.tier.blocks(), 0U);
    bench.tier.audit();
}

/// Its lines may be mapped: nothing else lies there before the last pin has run out.
TEST(TierTest, ALostBlockKeepsItsFrameUntilItsPinsHaveRunOut) {
    Bench bench(2);
    const TierFrame frame = bench.store(1);
    const Dpa where = bench.tier.address(frame);
    const Time end = bench.at() + Time::from_us(50);
    ASSERT_TRUE(bench.tier.leases().pin(frame.record, kTenant, kBlock, end, bench.at()));
    bench.tier.flip_record(frame, 17);
    EXPECT_FALSE(bench.tier.find(key_of(1), kTenant, bench.at()).present);
    EXPECT_NE(bench.tier.address(bench.store(2)), where);
    EXPECT_EQ(bench.tier.reserve(key_of(3), kBlock, kTenant, bench.at()).room, Tier::Room::kNo);
    EXPECT_EQ(bench.tier.reserve(key_of(1), kBlock, kTenant, bench.at()).room, Tier::Room::kTaken);
    bench.tier.audit();
    while (bench.at() < end) EXPECT_EQ(bench.tier.blocks(), 2U);
    EXPECT_EQ(bench.tier.address(bench.store(1)), where);
    EXPECT_EQ(bench.tier.blocks(), 2U);
    bench.tier.audit();
}

/// Random use while bits of entries and records flip: a block is found as it is, or it is missing
/// and was hit in its record.
class FaultyUse {
public:
    FaultyUse(const index::IndexConfig& config, std::uint64_t seed)
        : m_bench(300, config), m_random(seed, "faulty use") {}

    void step() {
        const std::uint64_t n = m_random.uniform(400);
        switch (m_random.uniform(8)) {
            case 0:
            case 1:
            case 2:
                store(n);
                break;
            case 3:
                look(n, true);
                break;
            case 4:
                flip_entry(n);
                break;
            case 5:
                if (m_held.count(n) == 1 && m_random.uniform(20) == 0) {
                    m_bench.tier.flip_record(m_held.at(n),
                                             static_cast<std::uint32_t>(m_random.uniform(320)));
                    m_hit[n] = true;
                }
                break;
            default:
                look(n, false);
        }
    }
    void finish() {
        for (std::uint64_t n = 0; n < 400; ++n) look(n, false);
        // Frames of lost blocks without an entry stay out of use.
        const std::uint64_t retired = m_bench.tier.blocks() - m_held.size();
        EXPECT_LT(retired, m_bench.tier.counters().lost_blocks / 2);
        m_bench.tier.audit();
        EXPECT_GT(m_bench.tier.counters().rebuilt, 30U);
        EXPECT_GT(m_bench.tier.counters().lost_blocks, 10U);
        EXPECT_GT(m_bench.index.ecc().corrected, 100U);
    }

private:
    void store(std::uint64_t n) {
        const Tier::Reservation made =
            m_bench.tier.reserve(key_of(n), kBlock, kTenant, m_bench.at());
        if (made.room == Tier::Room::kTaken) {
            ASSERT_EQ(m_held.count(n), 1U);
            return;
        }
        if (made.room == Tier::Room::kNo) return;
        ASSERT_TRUE(m_held.count(n) == 0 || m_hit[n]) << "twice in the tier";
        ASSERT_TRUE(m_bench.tier.commit(key_of(n), made.frame, m_bench.at()));
        m_held[n] = made.frame;
        m_hit[n] = false;
    }
    void look(std::uint64_t n, bool discard) {
        const Tier::Found found = m_bench.tier.find(key_of(n), kTenant, m_bench.at());
        const auto held = m_held.find(n);
        if (!found.present) {
            if (held == m_held.end()) return;
            ASSERT_TRUE(m_hit[n]) << n;
            m_held.erase(held);
            return;
        }
        ASSERT_NE(held, m_held.end());
        ASSERT_FALSE(m_hit[n]);
        ASSERT_EQ(found.frame.record, held->second.record);
        Time done;
        if (!discard) return;
        ASSERT_EQ(m_bench.tier.discard(key_of(n), found.frame, m_bench.at(), done),
                  Tier::Discarded::kDone);
        m_held.erase(held);
    }
    /// One wrong bit or two, never a third: that could pass as a correction.
    void flip_entry(std::uint64_t n) {
        index::CuckooTable& table = m_bench.index.table();
        for (std::uint64_t row = 0; row < table.capacity(); ++row) (void)table.scrub();
        if (table.bad_slots() != 0) return;
        const auto bit = static_cast<std::uint32_t>(m_random.uniform(128));
        const auto other = static_cast<std::uint32_t>((bit + 1 + m_random.uniform(127)) % 128);
        if (!table.flip(key_of(n).fold(), bit) || m_random.uniform(2) == 0) return;
        (void)table.flip(key_of(n).fold(), other);
    }

    Bench m_bench;
    RandomStream m_random;
    std::map<std::uint64_t, TierFrame> m_held;
    std::map<std::uint64_t, bool> m_hit;
};

TEST(TierTest, BitErrorsNeverMakeItReturnAWrongBlock) {
    const std::vector<index::IndexConfig> configs{
        {.sram = Bytes::from_kib(16)},
        {.sram = Bytes::from_kib(4), .stash = 4},
        {.sram = Bytes::from_kib(4), .stash = 4, .overflow = index::Overflow::kNone}};
    for (const index::IndexConfig& config : configs) {
        FaultyUse use(config, 5);
        for (int i = 0; i < 20'000 && !testing::Test::HasFatalFailure(); ++i) use.step();
        use.finish();
    }
}

}  // namespace
}  // namespace kvplane::engine
