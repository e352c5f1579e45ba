// SPDX-License-Identifier: Apache-2.0
/// The lookup engine's pipeline: latency, rate, store buffer, kicks, banks.
#include "model/index/timed_table.h"

#include <gtest/gtest.h>

#include <unordered_map>
#include <vector>

#include "cuckoo_twin.h"
#include "model/common/errors.h"

namespace kvplane::index {
namespace {

constexpr Time kCycle = Time::from_ns(1);

/// A table of 2^15 slots (512 KiB) unless told otherwise, filled to a load.
class Bench {
public:
    explicit Bench(const IndexConfig& config, std::uint32_t load_percent = 80)
        : m_table(config), m_random(31, "timed bench") {
        while (m_table.table().size() < m_table.table().capacity() * load_percent / 100) {
            insert_new();
        }
        settle();
    }

    TimedAnswer run(const Request& request) { return m_table.submit(request, m_at); }
    TimedAnswer lookup() { return run({.key = any_key()}); }
    TimedAnswer update(std::uint64_t key) {
        return run({.operation = Operation::kUpdate, .key = key, .entry = entry_of(++m_value)});
    }
    TimedAnswer insert_new() {
        const std::uint64_t key = m_random.bits();
        const TimedAnswer answer =
            run({.operation = Operation::kInsert, .key = key, .entry = entry_of(++m_value)});
        if (answer.answer.done()) m_keys.push_back(key);
        return answer;
    }
    TimedAnswer erase_any() {
        const std::size_t victim = m_random.uniform(m_keys.size());
        const std::uint64_t key = m_keys[victim];
        m_keys[victim] = m_keys.back();
        m_keys.pop_back();
        return run({.operation = Operation::kDelete, .key = key});
    }
    /// Lets everything come to rest.
    void settle() { m_at += Time::from_ms(1); }

    /// Cycles that `count` requests in a row took to be accepted, a request each.
    template <class Next>
    double cycles_each(int count, Next next) {
        settle();
        const Time first = lookup().issued;
        Time last{};
        for (int i = 0; i < count; ++i) last = next(i).issued;
        return static_cast<double>((last - first).ps) / static_cast<double>(kCycle.ps) / count;
    }

    [[nodiscard]] std::uint64_t any_key() { return m_keys[m_random.uniform(m_keys.size())]; }
    [[nodiscard]] RandomStream& random() { return m_random; }
    [[nodiscard]] Time at() const { return m_at; }
    [[nodiscard]] TimedTable& table() { return m_table; }

private:
    TimedTable m_table;
    RandomStream m_random;
    std::vector<std::uint64_t> m_keys;
    Time m_at;
    std::uint32_t m_value = 0;
};

constexpr IndexConfig kSmall{.sram = Bytes::from_kib(512)};

TEST(TimedTableTest, AnswersFourCyclesAfterTheAcceptingEdgeAndOneMoreForEachOfTheSram) {
    for (const auto& [mib, cycles] : {std::pair{1U, 4U}, {16U, 5U}, {128U, 6U}}) {
        TimedTable table({.sram = Bytes::from_mib(mib)});
        EXPECT_EQ(table.latency_cycles(), cycles);
        for (const Operation operation :
             {Operation::kLookup, Operation::kInsert, Operation::kUpdate, Operation::kDelete}) {
            const Time at = Time::from_us(static_cast<std::int64_t>(operation) + 1) + Time{137};
            const TimedAnswer answer =
                table.submit({.operation = operation, .key = 99, .entry = entry_of(1)}, at);
            EXPECT_EQ(answer.issued, at);
            EXPECT_EQ(answer.done, at + kCycle * cycles);
        }
    }
}

TEST(TimedTableTest, WhileItWorksARequestWaitsForTheNextEdge) {
    TimedTable table(kSmall);
    EXPECT_EQ(table.submit({.key = 1}, Time{500}).issued, Time{500});
    EXPECT_EQ(table.submit({.key = 1}, Time{600}).issued, Time{1'500});
    EXPECT_EQ(table.submit({.key = 1}, Time{3'501}).issued, Time{4'500});
    EXPECT_EQ(table.submit({.key = 1}, Time{20'001}).issued, Time{20'001});  // asleep by then
}

TEST(TimedTableTest, TakesALookupEveryCycle) {
    Bench bench(kSmall);
    const std::uint64_t stolen = bench.table().counters().stolen;
    EXPECT_DOUBLE_EQ(bench.cycles_each(20'000, [&](int) { return bench.lookup(); }), 1.0);
    EXPECT_EQ(bench.table().counters().stolen, stolen);
}

TEST(TimedTableTest, TakesLookupsWithChurnEveryCycleWhileKicking) {
    Bench bench(kSmall);
    // Of ten requests eight look up, one deletes, one inserts.
    const double each = bench.cycles_each(50'000, [&](int i) {
        if (i % 10 == 3) return bench.erase_any();
        return i % 10 == 7 ? bench.insert_new() : bench.lookup();
    });
    EXPECT_LE(each, 1.0002);
    EXPECT_GT(bench.table().table().kicks(), 2'000U);
}

TEST(TimedTableTest, TakesAMixOfLookupsUpdatesAndChurnEveryCycle) {
    Bench bench(kSmall);
    const double each = bench.cycles_each(50'000, [&](int i) {
        if (i % 10 < 6) return bench.lookup();
        if (i % 10 < 9) return bench.update(bench.any_key());
        return i % 20 == 9 ? bench.erase_any() : bench.insert_new();
    });
    EXPECT_LE(each, 1.0002);
}

TEST(TimedTableTest, TakesUpdatesNearlyEveryCycleAndFewerWithAShortStoreBuffer) {
    const auto rate = [](std::uint32_t places) {
        IndexConfig config = kSmall;
        config.store_buffer = places;
        Bench bench(config);
        return 1 / bench.cycles_each(50'000, [&](int) { return bench.update(bench.any_key()); });
    };
    EXPECT_GE(rate(16), 0.999);
    EXPECT_LT(rate(8), rate(16));
    EXPECT_LT(rate(6), 0.96);
    // In flight a request holds a place of each choice: with four there is no full rate.
    EXPECT_LT(rate(4), 0.75);
    EXPECT_GT(rate(1), 0.05);
}

TEST(TimedTableTest, TakesUpdatesOfOneKeyEveryCycle) {
    Bench bench(kSmall);
    const std::uint64_t hot = bench.any_key();
    EXPECT_LE(bench.cycles_each(50'000, [&](int) { return bench.update(hot); }), 1.001);
    EXPECT_GT(bench.table().counters().dead_writes, 30'000U);
}

TEST(TimedTableTest, TakesAnInsertEveryFiveCyclesAtALoadOf80Percent) {
    Bench bench({.sram = Bytes::from_mib(4)});
    // 2,000 inserts raise the load by less than 1 %.
    const double each = bench.cycles_each(2'000, [&](int) { return bench.insert_new(); });
    EXPECT_LE(each, 5.0);
    EXPECT_GE(each, 1.0);
}

TEST(TimedTableTest, AHotBankStarvesAWriteForSixtyFourCyclesAtMost) {
    Bench bench(kSmall);
    const std::uint64_t hot = bench.any_key();
    bench.settle();
    const std::uint64_t stolen = bench.table().counters().stolen;
    (void)bench.update(hot);
    // Lookups of one key read the bank that the write waits for.
    Time last = bench.run({.key = hot}).issued;
    int gaps = 0;
    int gap_at = 0;
    for (int i = 0; i < 200; ++i) {
        const Time issued = bench.run({.key = hot}).issued;
        if (issued - last != kCycle) {
            EXPECT_EQ(issued - last, kCycle * 2);
            gap_at = i;
            ++gaps;
        }
        last = issued;
    }
    EXPECT_EQ(gaps, 1);
    EXPECT_NEAR(gap_at, 64, 6);
    EXPECT_EQ(bench.table().counters().stolen, stolen + 1);
    EXPECT_GE(bench.table().counters().conflicts, 64U);
}

TEST(TimedTableTest, ASlowMacroKeepsItsBankBusy) {
    // 0.51 ns a cycle at 22 nm: two cycles of a clock of 4 GHz (and 0.78 ns: four).
    const IndexConfig slow{
        .sram = Bytes::from_mib(1), .node = memory::SramNode::k22nm, .clock = {4'000'000'000}};
    TimedTable table(slow);
    const Time first = table.submit({.key = 5}, {}).issued;
    EXPECT_EQ(table.submit({.key = 5}, {}).issued - first, Time{250 * 3});
    EXPECT_EQ(table.counters().conflicts, 2U);
    // Over many banks the wait is rare.
    IndexConfig wide = slow;
    wide.banks = 32;
    const auto each = [](const IndexConfig& config) {
        TimedTable timed(config);
        RandomStream random(32, "banks");
        Time last{};
        for (int i = 0; i < 10'000; ++i) last = timed.submit({.key = random.bits()}, {}).issued;
        return static_cast<double>(last.ps) / 250 / 10'000;
    };
    EXPECT_GT(each(slow), 1.3);
    EXPECT_LT(each(wide), each(slow) - 0.2);
}

TEST(TimedTableTest, APortForWritesEndsTheirConflicts) {
    const auto conflicts = [](memory::SramPorts ports) {
        IndexConfig config = kSmall;
        config.ports = ports;
        config.node = memory::SramNode::k5nm;
        Bench bench(config);
        const std::uint64_t before = bench.table().counters().conflicts;
        (void)bench.cycles_each(20'000, [&](int) { return bench.update(bench.any_key()); });
        return bench.table().counters().conflicts - before;
    };
    EXPECT_GT(conflicts(memory::SramPorts::k1rw), 1'000U);
    EXPECT_EQ(conflicts(memory::SramPorts::k1r1w), 0U);
}

TEST(TimedTableTest, WritesAreConserved) {
    // Every slot write drains or is replaced by a newer one.
    Bench bench(kSmall);
    bench.settle();
    (void)bench.lookup();
    const TimedCounters before = bench.table().counters();
    constexpr int kUpdates = 10'000;
    for (int i = 0; i < kUpdates; ++i) (void)bench.update(bench.any_key());
    bench.settle();
    (void)bench.lookup();
    const TimedCounters after = bench.table().counters();
    EXPECT_EQ(after.drains - before.drains + after.dead_writes - before.dead_writes, kUpdates);
}

TEST(TimedTableTest, EnergyIsThatOfTheAccesses) {
    TimedTable table(kSmall);
    const memory::SramMacroConfig bank{.capacity = Bytes::from_kib(64), .port_bits = 512};
    const std::uint64_t read = memory::sram_macro(bank).read_fj;
    memory::SramMacroConfig narrow = bank;
    narrow.port_bits = 128;
    const std::uint64_t write = memory::sram_macro(narrow).write_fj;
    (void)table.submit({.key = 7}, {});
    EXPECT_EQ(table.counters().dynamic_fj, 2 * read);
    (void)table.submit({.operation = Operation::kInsert, .key = 7, .entry = entry_of(1)}, {});
    (void)table.submit({.key = 7}, Time::from_us(1));
    EXPECT_EQ(table.counters().dynamic_fj, 6 * read + write);
    EXPECT_EQ(table.figures().leakage_uw, 8 * memory::sram_macro(bank).leakage_uw);
    EXPECT_EQ(table.figures().area_um2, 8 * memory::sram_macro(bank).area_um2);
}

TEST(TimedTableTest, FingerprintsSaveEnergyAndCostACycle) {
    IndexConfig whole{.sram = Bytes::from_mib(4), .slots = 8};
    IndexConfig prints = whole;
    prints.fingerprint_bits = 16;
    Bench a(whole);
    Bench b(prints);
    EXPECT_EQ(b.table().latency_cycles(), a.table().latency_cycles() + 1);
    const auto energy = [](Bench& bench) {
        const std::uint64_t before = bench.table().counters().dynamic_fj;
        for (int i = 0; i < 1'000; ++i) (void)bench.lookup();
        return bench.table().counters().dynamic_fj - before;
    };
    EXPECT_GT(energy(a), 3 * energy(b));
    EXPECT_GT(b.table().figures().area_um2, a.table().figures().area_um2);
}

TEST(TimedTableTest, FiguresWithFingerprintsAreThoseOfTheTwoArrays) {
    const IndexConfig config{.sram = Bytes::from_mib(4),
                             .node = memory::SramNode::k22nm,
                             .slots = 8,
                             .fingerprint_bits = 16};
    // Of one bank: 512 KiB of entries 128 bits wide, and 64 KiB of fingerprints as wide as eight.
    const memory::SramMacro entry = memory::sram_macro(
        {.capacity = Bytes::from_kib(512), .port_bits = 128, .node = config.node});
    const memory::SramMacro print = memory::sram_macro(
        {.capacity = Bytes::from_kib(64), .port_bits = 128, .node = config.node});
    const EngineFigures figures = engine_figures(config);
    EXPECT_EQ(figures.area_um2, 8 * (entry.area_um2 + print.area_um2));
    EXPECT_EQ(figures.leakage_uw, 8 * (entry.leakage_uw + print.leakage_uw));
    EXPECT_EQ(figures.request_read_fj, 2 * print.read_fj);
    EXPECT_EQ(figures.entry_read_fj, entry.read_fj);
    EXPECT_EQ(figures.bucket_read_fj, print.read_fj + 8 * entry.read_fj);
    EXPECT_TRUE(figures.in_fit);
    // The fit ends at 32 KiB and at 512 bits; an array of fingerprints is an array too.
    IndexConfig other = config;
    other.sram = Bytes::from_mib(1);
    EXPECT_FALSE(engine_figures(other).in_fit) << "16 KiB of fingerprints";
    other.fingerprint_bits = 0;
    EXPECT_FALSE(engine_figures(other).in_fit) << "1024 bits";
    other.slots = 4;
    EXPECT_TRUE(engine_figures(other).in_fit);
}

TEST(TimedTableTest, AnInsertWaitsWhileAKickCouldStillMakeRoomAndIsRefusedWhenNoneCan) {
    TimedTable table({.sram = {1024}, .banks = 2, .stash = 2, .kick_limit = 8});
    RandomStream random(33, "full");
    std::unordered_map<std::uint64_t, Entry> twin;
    int refused = 0;
    int waited = 0;
    Time at{};
    Time last{};
    for (std::uint32_t i = 1; i <= 200; ++i) {
        const std::uint64_t key = random.bits();
        const TimedAnswer answer =
            table.submit({.operation = Operation::kInsert, .key = key, .entry = entry_of(i)}, at);
        waited += answer.issued - last > kCycle ? 1 : 0;
        last = answer.issued;
        if (answer.answer.done()) {
            twin[key] = entry_of(i);
        } else {
            ASSERT_EQ(answer.answer.status, Status::kFull);
            ++refused;
        }
    }
    EXPECT_GT(refused, 100);
    EXPECT_GT(waited, 0);
    EXPECT_GT(twin.size(), 55U);
    // Nothing that was accepted is lost.
    for (const auto& [key, entry] : twin) {
        const TimedAnswer answer = table.submit({.key = key}, last);
        ASSERT_TRUE(answer.answer.found());
        ASSERT_TRUE(same(answer.answer.entry, entry));
    }
}

TEST(TimedTableTest, AnswersAsTheTableDoesWhateverTheTiming) {
    // The timed form and the function, the same requests: only FULL may differ.
    TimedTable timed({.sram = Bytes::from_kib(4), .stash = 4, .kick_limit = 16});
    CuckooTable plain(cuckoo_config({.sram = Bytes::from_kib(4), .stash = 4, .kick_limit = 16}));
    RandomStream random(34, "lockstep");
    std::vector<std::uint64_t> keys;
    Time at{};
    int full = 0;
    for (std::uint32_t i = 1; i < 200'000; ++i) {
        at += Time{static_cast<std::int64_t>(random.uniform(4'000))};
        const auto draw = static_cast<Operation>(random.uniform(keys.size() < 200 ? 3 : 5));
        const bool fresh = keys.empty() || random.uniform(3) == 0;
        const Request request{.operation = draw,
                              .key = fresh ? random.bits() : keys[random.uniform(keys.size())],
                              .entry = entry_of(i),
                              .mask = static_cast<FieldMask>(random.uniform(field::kAll + 1))};
        const Answer expected = request.operation == Operation::kInsert
                                    ? plain.insert(request.key, request.entry)
                                    : plain.commit(request);
        while (plain.kicking()) plain.kick();
        const TimedAnswer got = timed.submit(request, at);
        ASSERT_LE(at, got.issued);
        if (got.answer.status == Status::kFull || expected.status == Status::kFull) {
            ++full;
            if (got.answer.done())
                (void)timed.submit({.operation = Operation::kDelete, .key = request.key}, at);
            if (expected.done()) (void)plain.erase(request.key);
            continue;
        }
        ASSERT_EQ(got.answer.status, expected.status) << i;
        ASSERT_TRUE(same(got.answer.entry, expected.entry));
        if (got.answer.done() && request.operation == Operation::kInsert) {
            keys.push_back(request.key);
        }
        if (got.answer.done() &&
            (request.operation == Operation::kDelete || request.operation == Operation::kEvict)) {
            std::erase(keys, request.key);
        }
    }
    EXPECT_GT(keys.size(), 100U);
    EXPECT_LT(full, 2'000);
}

TEST(TimedTableTest, RefusesShapesItCannotBuild) {
    EXPECT_THROW(TimedTable({.sram = {3 << 10}}), InvariantError);
    EXPECT_THROW(TimedTable({.choices = 3}), InvariantError);
    EXPECT_THROW(TimedTable({.banks = 1}), InvariantError);
    EXPECT_THROW(TimedTable({.sram = {256}, .banks = 32}), InvariantError);
    EXPECT_THROW(TimedTable({.store_buffer = 0}), InvariantError);
}

}  // namespace
}  // namespace kvplane::index
