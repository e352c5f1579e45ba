// SPDX-License-Identifier: Apache-2.0
/// How fast the resident index runs: operations a second of one core's time.
#include <benchmark/benchmark.h>

#include <vector>

#include "model/common/random.h"
#include "model/index/cuckoo_table.h"
#include "model/index/tlm_index.h"

namespace kvplane::index {
namespace {

void report(benchmark::State& state, const char* what, std::uint64_t count) {
    state.counters[what] =
        benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsRate);
}

Entry resident() {
    Entry entry;
    entry.state = 1;
    return entry;
}

/// A bijective mix: distinct well-spread keys without a generator's cost.
std::uint64_t key_of(std::uint64_t n) { return mix64(n * 0x9E3779B97F4A7C15ULL); }

/// A table at a load of 0.80 and the numbers of the keys in it.
struct Filled {
    explicit Filled(const CuckooConfig& config) : table(config) {
        while (table.size() < table.capacity() * 8 / 10) {
            numbers.push_back(next);
            benchmark::DoNotOptimize(table.insert(key_of(next++), resident()));
        }
    }
    CuckooTable table;
    std::vector<std::uint64_t> numbers;
    std::uint64_t next = 1;
};

/// Argument: slots of a bucket; 2^18 slots in all.
CuckooConfig config_of(const benchmark::State& state) {
    const auto slots = static_cast<std::uint32_t>(state.range(0));
    return {.buckets_log2 = slots == 4 ? 15U : 14U, .slots = slots};
}

void BM_TableLookup(benchmark::State& state) {
    Filled filled(config_of(state));
    std::uint64_t n = 0;
    for (auto _ : state) {
        n += 7'919;
        if (n >= filled.numbers.size()) n -= filled.numbers.size();
        benchmark::DoNotOptimize(filled.table.lookup(key_of(filled.numbers[n])));
    }
    report(state, "operations", static_cast<std::uint64_t>(state.iterations()));
}
BENCHMARK(BM_TableLookup)->Arg(4)->Arg(8);

/// Of ten operations six look up, two update, one deletes and one inserts.
void BM_TableMix(benchmark::State& state) {
    Filled filled(config_of(state));
    std::uint64_t n = 0;
    const auto next = [&] {
        n += 7'919;
        if (n >= filled.numbers.size()) n -= filled.numbers.size();
        return n;
    };
    for (auto _ : state) {
        for (int i = 0; i < 6; ++i) {
            benchmark::DoNotOptimize(filled.table.lookup(key_of(filled.numbers[next()])));
        }
        for (int i = 0; i < 2; ++i) {
            benchmark::DoNotOptimize(
                filled.table.update(key_of(filled.numbers[next()]), resident()));
        }
        std::uint64_t& number = filled.numbers[next()];
        benchmark::DoNotOptimize(filled.table.erase(key_of(number)));
        number = filled.next++;
        benchmark::DoNotOptimize(filled.table.insert(key_of(number), resident()));
    }
    report(state, "operations", 10 * static_cast<std::uint64_t>(state.iterations()));
}
BENCHMARK(BM_TableMix)->Arg(4)->Arg(8);

/// Deletes and inserts alone, with the kicks they take.
void BM_TableChurn(benchmark::State& state) {
    Filled filled(config_of(state));
    std::uint64_t n = 0;
    for (auto _ : state) {
        n += 7'919;
        if (n >= filled.numbers.size()) n -= filled.numbers.size();
        benchmark::DoNotOptimize(filled.table.erase(key_of(filled.numbers[n])));
        filled.numbers[n] = filled.next++;
        benchmark::DoNotOptimize(filled.table.insert(key_of(filled.numbers[n]), resident()));
    }
    report(state, "operations", 2 * static_cast<std::uint64_t>(state.iterations()));
}
BENCHMARK(BM_TableChurn)->Arg(4)->Arg(8);

/// DRAM of a fixed latency; hot records by frame.
class FixedDram final : public RecordReader {
public:
    Time read_record_line(Time at, std::uint64_t /*line*/) override {
        return at + Time::from_ns(57);
    }
    std::optional<block::BlockKey> key_of(std::uint32_t frame) override { return block_key(frame); }
    static block::BlockKey block_key(std::uint32_t frame) {
        return {index::key_of(std::uint64_t{frame} + 1), frame};
    }
};

/// Timed lookups, one a cycle; 8 MiB of SRAM. Argument: blocks in the index, in thousands.
void BM_TlmIndexLookup(benchmark::State& state) {
    FixedDram dram;
    TlmIndex index(IndexConfig{});
    index.bind(dram);
    const auto blocks = static_cast<std::uint32_t>(state.range(0)) * 1'000;
    Entry entry = resident();
    for (std::uint32_t i = 0; i < blocks; ++i) {
        entry.frame = i;
        benchmark::DoNotOptimize(index.insert(FixedDram::block_key(i), entry, {}));
    }
    Time at = Time::from_s(1);
    std::uint32_t i = 0;
    for (auto _ : state) {
        i += 7'919;
        if (i >= blocks) i -= blocks;
        at += Time::from_ns(1);
        benchmark::DoNotOptimize(index.lookup(FixedDram::block_key(i), at));
    }
    report(state, "lookups", static_cast<std::uint64_t>(state.iterations()));
}
BENCHMARK(BM_TlmIndexLookup)->Arg(200)->Arg(419)->Arg(1'000);

/// Of ten timed requests six look up, three update, and the last deletes or inserts: writes drain
/// and keys are kicked behind every one.
void BM_TimedTableMix(benchmark::State& state) {
    TimedTable table(IndexConfig{});
    std::vector<std::uint64_t> numbers;
    std::uint64_t next = 1;
    const auto insert = [&](Time at) {
        numbers.push_back(next);
        benchmark::DoNotOptimize(table.submit(
            {.operation = Operation::kInsert, .key = key_of(next++), .entry = resident()}, at));
    };
    while (numbers.size() < table.table().capacity() * 8 / 10) insert({});
    Time at = Time::from_s(1);
    std::uint64_t n = 0;
    std::uint64_t i = 0;
    for (auto _ : state) {
        at += Time::from_ns(1);
        n = (n + 7'919) % numbers.size();
        const std::uint64_t turn = i++ % 20;
        if (turn == 9) {
            benchmark::DoNotOptimize(
                table.submit({.operation = Operation::kDelete, .key = key_of(numbers[n])}, at));
            numbers[n] = numbers.back();
            numbers.pop_back();
        } else if (turn == 19) {
            insert(at);
        } else {
            benchmark::DoNotOptimize(
                table.submit({.operation = turn % 10 < 6 ? Operation::kLookup : Operation::kUpdate,
                              .key = key_of(numbers[n]),
                              .entry = resident()},
                             at));
        }
    }
    report(state, "requests", static_cast<std::uint64_t>(state.iterations()));
}
BENCHMARK(BM_TimedTableMix);

}  // namespace
}  // namespace kvplane::index
