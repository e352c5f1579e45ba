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
           signed_intent({.opcode = 1, .transfer_class = 1})});
    const nlohmann::json all = rows(1);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NE(all[i]["flaw"], "") << i;
    EXPECT_EQ(all[5]["flaw"], "");
    std::ostringstream table;
    EXPECT_EQ(print_intents(m_file, false, table), 1);
    EXPECT_NE(table.str().find("FLAW: no opcode 14"), std::string::npos) << table.str();
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
