// SPDX-License-Identifier: Apache-2.0
#include "explore/trace_intents.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "explore/output.h"
#include "model/common/errors.h"
#include "model/engine/intent.h"
#include "model/engine/tier.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;
using engine::Intent;

std::vector<Intent> read_intents(const std::string& path) {
    std::error_code failed;  // told as a file that is none
    if (!std::filesystem::is_regular_file(path, failed)) {
        throw UserError(fmt::format("{}: not a file that can be read", path));
    }
    std::ifstream in(path, std::ios::binary);
    if (!in) throw UserError(fmt::format("{}: cannot be read", path));
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (bytes.empty()) throw UserError(fmt::format("{}: is empty", path));
    if (bytes.size() % sizeof(Intent) != 0) {
        throw UserError(fmt::format("{}: {} bytes are not a whole number of {}-byte descriptors",
                                    path, bytes.size(), sizeof(Intent)));
    }
    std::vector<Intent> intents(bytes.size() / sizeof(Intent));
    std::memcpy(intents.data(), bytes.data(), bytes.size());
    return intents;
}

std::string_view opcode_name(const Intent& intent) {
    return intent.opcode <= engine::kLastOpcode ? engine::kOpcodeNames[intent.opcode] : "?";
}

std::string_view class_name(const Intent& intent) {
    return intent.transfer_class < engine::kClassNames.size()
               ? engine::kClassNames[intent.transfer_class]
               : "?";
}

/// What any card would refuse, whatever its registers say.
std::string flaw_of(const Intent& intent) {
    if (intent.crc != engine::intent_crc(intent)) {
        return fmt::format("CRC is {:08x}, not {:08x}", intent.crc, engine::intent_crc(intent));
    }
    if (intent.format_version != engine::kFormatVersion) {
        return fmt::format("format {} is not {}", intent.format_version, engine::kFormatVersion);
    }
    if (opcode_name(intent) == "?") return fmt::format("no opcode {}", intent.opcode);
    if (class_name(intent) == "?") return fmt::format("no class {}", intent.transfer_class);
    if (intent.count == 0) return "count is 0";
    if ((intent.flags & engine::kGatherList) == 0 && intent.count != 1) {
        return fmt::format("{} blocks without a gather list", intent.count);
    }
    if (intent.tenant == engine::kEveryTenant) return "a tenant that is all";
    return {};
}

std::string flags_of(const Intent& intent) {
    std::string text;
    for (const auto& [bit, name] :
         {std::pair{engine::kGatherList, "list"}, std::pair{engine::kOddPass, "odd"},
          std::pair{engine::kMapped, "mapped"}}) {
        if ((intent.flags & bit) == 0) continue;
        text += text.empty() ? name : fmt::format("+{}", name);
    }
    return text;
}

Json row_of(std::size_t number, const Intent& intent) {
    const std::uint64_t low = intent.target & ((std::uint64_t{1} << 48) - 1);
    const bool list = (intent.flags & engine::kGatherList) != 0;
    Json row;
    row["n"] = number;
    row["id"] = intent.id;
    row["opcode"] = opcode_name(intent);
    row["class"] = class_name(intent);
    row["priority"] = intent.priority;
    row["tenant"] = intent.tenant;
    row["count"] = intent.count;
    row["flags"] = flags_of(intent);
    row["key"] = list ? "" : fmt::format("{:016x}{:016x}", intent.key_high, intent.key_low);
    row["window"] = intent.target >> 48;
    row["slot"] = list ? Json() : Json(low);
    row["list"] = list ? Json(fmt::format("{:#x}", low)) : Json();
    row["bytes"] = std::uint64_t{intent.length_4k} * engine::kGranule.count;
    row["deadline_ns"] = intent.deadline_ns;
    row["argument"] = intent.argument;
    row["epoch"] = intent.epoch;
    row["boot_generation"] = intent.boot_generation;
    row["flaw"] = flaw_of(intent);
    return row;
}

void print_line(const Json& row, std::ostream& out) {
    const auto text = [&](const char* key) { return row[key].get<std::string>(); };
    const std::string what =
        row["list"].is_null() ? text("key") : fmt::format("list {}", text("list"));
    const std::string where = row["slot"].is_null() ? std::string("-") : row["slot"].dump();
    out << fmt::format(
        "{:>6} {:>6} {:<13} {:<8} {:>6} {:>5} {:<32} {:>3}:{:<10} {:>10} {:>14} {}{}\n",
        row["n"].get<std::size_t>(), row["id"].get<std::uint32_t>(), text("opcode"), text("class"),
        row["tenant"].get<int>(), row["count"].get<int>(), what, row["window"].get<int>(), where,
        row["bytes"].get<std::uint64_t>(), row["deadline_ns"].get<std::uint64_t>(), text("flags"),
        text("flaw").empty() ? "" : "  FLAW: " + text("flaw"));
}

}  // namespace

int print_intents(const std::string& path, bool json, std::ostream& out) {
    const std::vector<Intent> intents = read_intents(path);
    bool flawed = false;
    Json rows = Json::array();
    if (!json) {
        out << fmt::format(
            "{:>6} {:>6} {:<13} {:<8} {:>6} {:>5} {:<32} {:>3}:{:<10} {:>10} {:>14} {}\n", "n",
            "id", "opcode", "class", "tenant", "count", "key", "win", "slot", "bytes",
            "deadline ns", "flags");
    }
    for (std::size_t i = 0; i < intents.size(); ++i) {
        const Json row = row_of(i, intents[i]);
        flawed = flawed || !row["flaw"].get<std::string>().empty();
        if (json) {
            rows.push_back(row);
        } else {
            print_line(row, out);
        }
    }
    if (json) out << Json{{"schema", "kvplane.trace/1"}, {"rows", rows}}.dump(2) << '\n';
    finish(out);
    return flawed ? 1 : 0;
}

}  // namespace kvplane::explore
