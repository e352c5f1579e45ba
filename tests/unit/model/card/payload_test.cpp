// SPDX-License-Identifier: Apache-2.0
/// Runs that carry bytes: what comes back is what was written, or the host is told.
#include "host.h"
#include "model/common/random.h"
#include "tests/support/systemc_test.h"

namespace kvplane::card {
namespace {

using engine::Opcode;
using engine::Status;

constexpr Bytes kBlock = Bytes::from_kib(64);

class PayloadTest : public test::SystemCTest {
protected:
    static CardConfig config() {
        CardConfig made = baseline(16);
        made.tier_capacity = kBlock * 16;
        made.payload = Payload::kBytes;
        return made;
    }
    static void flip_stored_byte(Bench& bench, std::uint64_t address) {
        std::uint8_t byte = 0;
        tlm::tlm_generic_payload payload;
        payload.set_address(address);
        payload.set_data_ptr(&byte);
        payload.set_data_length(1);
        payload.set_command(tlm::TLM_READ_COMMAND);
        ASSERT_EQ(bench.host.mem->transport_dbg(payload), 1U);
        byte ^= 0x01;
        payload.set_command(tlm::TLM_WRITE_COMMAND);
        ASSERT_EQ(bench.host.mem->transport_dbg(payload), 1U);
    }
};

TEST_F(PayloadTest, BytesComeBackAsTheyWereThroughReusedFrames) {
    Bench bench(config(), kBlock);
    for (std::uint64_t round = 0; round < 3; ++round) {
        const auto keys = keys_of(round * 100, 16);
        for (std::uint32_t i = 0; i < 16; ++i) {
            bench.host.fill_slot(i, pattern(round * 100 + i, kBlock));
        }
        bench.load(keys);
        for (std::uint32_t i = 0; i < 16; ++i) bench.host.fill_slot(i, pattern(999, kBlock));
        const Done run = bench.finish(bench.host.run(Opcode::kPromote, keys, 100));
        EXPECT_EQ(run.status, Status::kOk);
        const Done one = bench.finish(bench.host.intent(Opcode::kPromote, keys[7], 200));
        EXPECT_EQ(one.status, Status::kOk);
        for (std::uint32_t i = 0; i < 16; ++i) {
            EXPECT_EQ(bench.host.slot(100 + i), pattern(round * 100 + i, kBlock));
        }
        EXPECT_EQ(bench.host.slot(200), pattern(round * 100 + 7, kBlock));
        EXPECT_EQ(bench.finish(bench.host.run(Opcode::kDiscard, keys)).argument, 16U);
    }
}

TEST_F(PayloadTest, OneWrongByteInTheTierIsFoundAndNotDelivered) {
    Bench bench(config(), kBlock);
    bench.host.fill_slot(0, pattern(1, kBlock));
    bench.load({key_of(1)});
    const auto before = bench.host.slot(9);
    flip_stored_byte(bench, 40'000);
    const Done bad = bench.finish(bench.host.intent(Opcode::kPromote, key_of(1), 9));
    EXPECT_EQ(bad.status, Status::kPoisoned);
    EXPECT_EQ(bad.argument, 0U);
    EXPECT_EQ(bench.host.slot(9), before);
    EXPECT_TRUE(bench.host.promoted.empty());
    EXPECT_EQ(bench.card.data_plane().counters().poisoned_blocks, 1U);
    EXPECT_EQ(bench.card.data_plane().counters().promoted_blocks, 0U);
    // Put right again, it is delivered; and it can be discarded.
    flip_stored_byte(bench, 40'000);
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kPromote, key_of(1), 9)).status, Status::kOk);
    EXPECT_EQ(bench.host.slot(9), pattern(1, kBlock));
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kDiscard, key_of(1))).status, Status::kOk);
}

TEST_F(PayloadTest, ChunksMayBeOfAnySize) {
    std::vector<std::unique_ptr<Bench>> benches;
    for (const std::uint64_t chunk : {512U, 4'096U, 65'536U}) {
        CardConfig made = config();
        made.engine.chunk = {chunk};
        benches.push_back(std::make_unique<Bench>(made, Bytes{100'000}, std::to_string(chunk)));
    }
    for (const auto& bench : benches) {
        bench->load(keys_of(0, 3));
        // The last byte of the middle block, in a chunk that is not whole.
        flip_stored_byte(*bench, 102'400 + 99'999);
        const Done run = bench->finish(bench->host.run(Opcode::kPromote, keys_of(0, 3)));
        EXPECT_EQ(run.status, Status::kPoisoned);
        EXPECT_EQ(run.argument, 1U);
    }
}

TEST_F(PayloadTest, ARunEndsAtItsFirstBadBlock) {
    Bench bench(config(), kBlock);
    for (std::uint32_t i = 0; i < 5; ++i) bench.host.fill_slot(i, pattern(i, kBlock));
    bench.load(keys_of(0, 5));
    flip_stored_byte(bench, 2 * kBlock.count);
    flip_stored_byte(bench, 4 * kBlock.count + 65'535);
    const Done run = bench.finish(bench.host.run(Opcode::kPromote, keys_of(0, 5), 10));
    EXPECT_EQ(run.status, Status::kPoisoned);
    EXPECT_EQ(run.argument, 2U);
    EXPECT_EQ(bench.host.promoted.size(), 2U);
    EXPECT_EQ(bench.host.slot(11), pattern(1, kBlock));
    EXPECT_EQ(bench.host.slot(13), std::vector<std::uint8_t>(kBlock.count, 0));
    EXPECT_EQ(bench.card.data_plane().counters().poisoned_blocks, 1U);
    // All are free to be read again, one by one.
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kPromote, key_of(3), 13)).status, Status::kOk);
    EXPECT_EQ(bench.finish(bench.host.intent(Opcode::kPromote, key_of(4), 14)).status,
              Status::kPoisoned);
    EXPECT_EQ(bench.finish(bench.host.run(Opcode::kDiscard, keys_of(0, 5))).argument, 5U);
}

TEST_F(PayloadTest, RunsOfSizesTakeTheSameTime) {
    CardConfig sizes = config();
    sizes.payload = Payload::kSizes;
    Bench with(config(), kBlock, "with");
    Bench without(sizes, kBlock, "without");
    with.load(keys_of(0, 4));
    without.load(keys_of(0, 4));
    const Time begin = now();
    const Time bytes = with.finish(with.host.run(Opcode::kPromote, keys_of(0, 4))).at - begin;
    const Time again = now();
    const Time size = without.finish(without.host.run(Opcode::kPromote, keys_of(0, 4))).at - again;
    EXPECT_EQ(bytes, size);
}

}  // namespace
}  // namespace kvplane::card
