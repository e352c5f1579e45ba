// SPDX-License-Identifier: Apache-2.0
#include "explore/trace_intents.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "explore/intent_log.h"
#include "model/common/errors.h"
#include "model/engine/intent.h"

namespace kvplane::explore {
namespace {

using engine::Intent;

class TraceIntentsTest : public testing::Test {
protected:
    ~TraceIntentsTest() override { std::filesystem::remove(m_file); }

    static Intent signed_intent(Intent intent) {
        intent.crc = engine::intent_crc(intent);
        return intent;
    }
    void write(const std::vector<Intent>& intents, std::size_t cut = 0) {
        std::ofstream out(m_file, std::ios::binary);
        out.write(reinterpret_cast<const char*>(intents.data()),
                  static_cast<std::streamsize>(intents.size() * sizeof(Intent) - cut));
    }
    nlohmann::json rows(int code) {
        std::ostringstream out;
        EXPECT_EQ(print_intents(m_file, true, out), code);
        return nlohmann::json::parse(out.str())["rows"];
    }

    std::string m_file =
        (std::filesystem::temp_directory_path() / ("intents." + std::to_string(getpid()))).string();
};

TEST_F(TraceIntentsTest, EveryFieldIsShown) {
    write({signed_intent({.opcode = 1,
                          .flags = engine::kOddPass,
                          .transfer_class = 1,
                          .priority = 7,
                          .tenant = 9,
                          .id = 11,
                          .epoch = 3,
                          .key_low = 0xB,
                          .key_high = 0xA,
                          .deadline_ns = 123,
                          .target = engine::make_target(2, 37),
                          .length_4k = 1'280,
                          .argument = 5,
                          .boot_generation = 4}),
           signed_intent({.opcode = 8,
                          .flags = engine::kGatherList,
                          .transfer_class = 3,
                          .count = 12,
                          .target = engine::make_target(1, 0xABC0)})});
    const nlohmann::json both = rows(0);
    ASSERT_EQ(both.size(), 2U);
    const nlohmann::json& one = both[0];
    EXPECT_EQ(one["record"], "intent");
    EXPECT_TRUE(one["time_ps"].is_null());
    EXPECT_EQ(one["opcode"], "promote");
    EXPECT_EQ(one["class"], "demand");
    EXPECT_EQ(one["flags"], "odd");
    EXPECT_EQ(one["key"], "000000000000000a000000000000000b");
    EXPECT_EQ(one["window"], 2);
    EXPECT_EQ(one["slot"], 37);
    EXPECT_EQ(one["bytes"], 5'242'880);
    for (const auto& [key, value] : std::map<std::string, int>{{"n", 0},
                                                               {"id", 11},
                                                               {"priority", 7},
                                                               {"tenant", 9},
                                                               {"count", 1},
                                                               {"deadline_ns", 123},
                                                               {"argument", 5},
                                                               {"epoch", 3},
                                                               {"boot_generation", 4}}) {
        EXPECT_EQ(one[key], value) << key;
    }
    EXPECT_EQ(both[1]["opcode"], "share");
    EXPECT_EQ(both[1]["list"], "0xabc0");
    EXPECT_TRUE(both[1]["slot"].is_null());
}

TEST_F(TraceIntentsTest, WhatTheCardWouldRefuseIsNamed) {
    Intent flawed = signed_intent({.opcode = 1, .transfer_class = 1});
    flawed.tenant = 1;
    write({flawed, signed_intent({.opcode = 14, .transfer_class = 1}),
           signed_intent({.opcode = 1, .transfer_class = 9}),
           signed_intent({.opcode = 1, .transfer_class = 1, .count = 2}),
           signed_intent({.opcode = 1, .transfer_class = 1, .format_version = 2}),
           signed_intent({.opcode = 1, .transfer_class = 1, .length_4k = 1})});
    const nlohmann::json all = rows(1);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NE(all[i]["flaw"], "") << i;
    EXPECT_EQ(all[5]["flaw"], "");
    std::ostringstream table;
    EXPECT_EQ(print_intents(m_file, false, table), 1);
    EXPECT_NE(table.str().find("FLAW: no opcode 14"), std::string::npos) << table.str();
}

/// As the card's check() says, with what no register allows.
TEST_F(TraceIntentsTest, FlawsOfEachField) {
    const Intent sound{.opcode = 1, .transfer_class = 1, .length_4k = 1};
    const auto with = [&](auto change) {
        Intent intent = sound;
        change(intent);
        return signed_intent(intent);
    };
    write({with([](Intent&) {}), with([](Intent& i) { i.length_4k = 0; }), with([](Intent& i) {
               i.opcode = 10;
               i.flags = engine::kGatherList;
               i.count = 3;
           }),
           with([](Intent& i) { i.opcode = 5; }), with([](Intent& i) {
               i.opcode = 8;
               i.argument = 70'000;
           }),
           with([](Intent& i) { i.target = engine::make_target(9, 0); }),
           with([](Intent& i) { i.target = engine::make_target(0, std::uint64_t{1} << 40); }),
           with([](Intent& i) { i.tenant = 0xFFFF; }), with([](Intent& i) { i.count = 0; })});
    const nlohmann::json all = rows(1);
    std::vector<std::string> flaws;
    for (const auto& row : all) flaws.push_back(row["flaw"]);
    EXPECT_EQ(flaws, (std::vector<std::string>{
                         "", "a move of length 0", "cancel takes no gather list", "a pin of 0 ms",
                         "no tenant 70000", "no window 9", "a slot above 2^32",
                         "a tenant that is all", "count is 0"}));
}

class IntentLogTest : public TraceIntentsTest {
protected:
    /// A run of two blocks, of which one has another length, its doorbell, and what came of it.
    void write_log() {
        IntentLog log(m_file);
        const std::vector<engine::GatherEntry> list{engine::make_gather_entry({1, 2}, 7, 4),
                                                    engine::make_gather_entry({3, 4}, 9, 5)};
        log.posted(1,
                   signed_intent({.opcode = 3,
                                  .flags = engine::kGatherList,
                                  .transfer_class = 3,
                                  .tenant = 6,
                                  .count = 2,
                                  .id = 5,
                                  .length_4k = 4}),
                   list);
        log.posted(0, signed_intent({.opcode = 10, .transfer_class = 1, .id = 8, .argument = 5}),
                   {});
        log.rung(1, 3);
        engine::MoveJob job;
        job.intent.id = 5;
        job.queue = 1;
        log.taken_in(job);
        log.crossed(job, engine::kPull, 0, Time{1'000}, Time{2'000});
        log.dropped();
        log.completed(1, {.id = 5, .status = 1, .queue = 1, .argument = 1});
        log.finish();
    }
    [[nodiscard]] std::string bytes() const {
        std::ifstream in(m_file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void expect_refused(const std::string& bytes, const std::string& why) {
        std::ofstream(m_file, std::ios::binary) << bytes;
        std::ostringstream out;
        try {
            (void)print_intents(m_file, false, out);
            ADD_FAILURE() << why;
        } catch (const UserError& error) {
            EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
        }
    }
};

TEST_F(IntentLogTest, EveryRecordIsShown) {
    write_log();
    const nlohmann::json all = rows(1);
    ASSERT_EQ(all.size(), 9U);
    EXPECT_EQ(all[0]["queue"], 1);
    EXPECT_EQ(all[0]["time_ps"], 0);
    EXPECT_EQ(all[1]["record"], "block");
    EXPECT_EQ(all[1]["key"], "00000000000000010000000000000002");
    EXPECT_EQ(all[1]["slot"], 7);
    EXPECT_EQ(all[1]["flaw"], "");
    EXPECT_EQ(all[2]["block"], 1);
    EXPECT_EQ(all[2]["bytes"], 5 * 4'096);
    EXPECT_NE(all[2]["flaw"], "");
    EXPECT_EQ(all[3]["argument"], 5);
    EXPECT_EQ(all[4]["event"], "doorbell");
    EXPECT_EQ(all[4]["tail"], 3);
    EXPECT_EQ(all[5]["event"], "taken-in");
    EXPECT_EQ(all[6]["until_ps"], 2'000);
    EXPECT_EQ(all[7]["event"], "dropped");
    EXPECT_EQ(all[8]["status"], "clipped");
    EXPECT_EQ(all[8]["argument"], 1);
    std::ostringstream table;
    EXPECT_EQ(print_intents(m_file, false, table), 1);
    for (const char* text : {"of 5", "slot 9 20480 B  FLAW: ", "completion: clipped, argument 1"}) {
        EXPECT_NE(table.str().find(text), std::string::npos) << text << "\n" << table.str();
    }
}

TEST_F(IntentLogTest, WhatIsNotWholeIsRefused) {
    write_log();
    const std::string good = bytes();
    const auto with = [&](std::size_t at, char byte) {
        std::string text = good;
        text[at] = byte;
        return text;
    };
    const std::size_t first = kIntentLogMagic.size();
    expect_refused(good.substr(0, good.size() - 1), "is cut off");
    expect_refused(good.substr(0, first + 5), "is cut off");
    expect_refused(with(first + 8, 9), "is of no kind: 9");
    expect_refused(with(first + 9, 1), "has no event 1");
    expect_refused(with(first + 12, 1), "bytes, not 112");
    const std::size_t last = good.size() - sizeof(engine::CompletionEntry);
    expect_refused(with(last + 4, 99), "has no status 99");
    expect_refused(with(first + 7, 1), "is earlier than the one before it");
    std::ofstream(m_file, std::ios::binary) << good;
    (void)rows(1);
}

TEST_F(TraceIntentsTest, AFileThatIsNotOfDescriptorsIsRefused) {
    std::ostringstream out;
    EXPECT_THROW(print_intents(m_file, false, out), UserError) << "there is none";
    write({});
    EXPECT_THROW(print_intents(m_file, false, out), UserError) << "empty";
    write({signed_intent({})}, 1);
    EXPECT_THROW(print_intents(m_file, false, out), UserError) << "63 bytes";
    EXPECT_THROW(print_intents("/", false, out), UserError) << "a folder";
}

}  // namespace
}  // namespace kvplane::explore
