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

#include "explore/intent_log.h"
#include "explore/output.h"
#include "model/common/errors.h"
#include "model/engine/intent_check.h"
#include "model/engine/tier.h"

namespace kvplane::explore {
namespace {

using Json = nlohmann::ordered_json;
using engine::CompletionEntry;
using engine::GatherEntry;
using engine::Intent;
using engine::IntentFlaw;
using engine::Opcode;

/// What a file holds, one behind the other.
struct Record {
    IntentRecordHead head;
    bool timed = true;  ///< false: a descriptor alone, without time and queue
    Intent intent;
    std::vector<GatherEntry> list;
    CompletionEntry completion;
    IntentEventBody event;
};

/// Takes a file apart. Throws UserError, with the place, where it is none.
class Reader {
public:
    explicit Reader(const std::string& path) : m_path(path) {
        std::error_code failed;  // told as a file that is none
        if (!std::filesystem::is_regular_file(path, failed)) {
            throw UserError(fmt::format("{}: not a file that can be read", path));
        }
        std::ifstream in(path, std::ios::binary);
        if (!in) throw UserError(fmt::format("{}: cannot be read", path));
        m_bytes = {std::istreambuf_iterator<char>(in), {}};
        if (m_bytes.empty()) throw UserError(fmt::format("{}: is empty", path));
        m_is_log = m_bytes.starts_with(kIntentLogMagic);
        if (m_is_log) {
            m_at = kIntentLogMagic.size();
        } else if (m_bytes.size() % sizeof(Intent) != 0) {
            throw UserError(fmt::format(
                "{}: is no log of intents, and {} bytes are not a whole number of {}-byte "
                "descriptors",
                path, m_bytes.size(), sizeof(Intent)));
        }
    }

    /// False at the end.
    [[nodiscard]] bool next(Record& record) {
        if (m_at == m_bytes.size()) return false;
        record = {};
        if (!m_is_log) {
            record.timed = false;
            take(record.intent);
            return true;
        }
        m_start = m_at;
        take(record.head);
        if (record.head.time_ps < m_last_ps) wrong("is earlier than the one before it");
        m_last_ps = record.head.time_ps;
        const bool is_event = record.head.record == IntentRecord::kEvent;
        if (is_event != (record.head.event != IntentEvent::kNone) ||
            record.head.event > kLastIntentEvent) {
            wrong(fmt::format("has no event {}", static_cast<int>(record.head.event)));
        }
        take_body(record);
        return true;
    }

private:
    [[noreturn]] void wrong(const std::string& what) const {
        throw UserError(fmt::format("{}: the record at byte {} {}", m_path, m_start, what));
    }
    template <class T>
    void take(T& value) {
        if (m_bytes.size() - m_at < sizeof(T)) wrong("is cut off");
        std::memcpy(&value, m_bytes.data() + m_at, sizeof(T));
        m_at += sizeof(T);
    }
    void require_size(const Record& record, std::size_t size) const {
        if (record.head.size == size) return;
        wrong(fmt::format("has {} bytes, not {}", record.head.size, size));
    }
    void take_body(Record& record) {
        switch (record.head.record) {
            case IntentRecord::kIntent: {
                take(record.intent);
                const bool list = (record.intent.flags & engine::kGatherList) != 0;
                record.list.resize(list ? record.intent.count : 0);
                require_size(record, sizeof(Intent) + record.list.size() * sizeof(GatherEntry));
                for (GatherEntry& entry : record.list) take(entry);
                return;
            }
            case IntentRecord::kCompletion:
                require_size(record, sizeof(CompletionEntry));
                take(record.completion);
                if (record.completion.status >= engine::kStatusNames.size()) {
                    wrong(fmt::format("has no status {}", record.completion.status));
                }
                return;
            case IntentRecord::kEvent:
                require_size(record, sizeof(IntentEventBody));
                take(record.event);
                return;
        }
        wrong(fmt::format("is of no kind: {}", static_cast<int>(record.head.record)));
    }

    const std::string& m_path;
    std::string m_bytes;
    bool m_is_log = false;
    std::size_t m_at = 0;
    std::size_t m_start = 0;  ///< of the record
    std::uint64_t m_last_ps = 0;
};

std::string_view opcode_name(const Intent& intent) {
    return intent.opcode <= engine::kLastOpcode ? engine::kOpcodeNames[intent.opcode] : "?";
}

std::string_view class_name(const Intent& intent) {
    return intent.transfer_class < engine::kClassNames.size()
               ? engine::kClassNames[intent.transfer_class]
               : "?";
}

/// Empty: none.
std::string flaw_text(const Intent& intent) {
    switch (engine::flaw_of(intent)) {
        case IntentFlaw::kNone:
            return {};
        case IntentFlaw::kCrc:
            return fmt::format("CRC is {:08x}, not {:08x}", intent.crc, engine::intent_crc(intent));
        case IntentFlaw::kFormat:
            return fmt::format("format {} is not {}", intent.format_version,
                               engine::kFormatVersion);
        case IntentFlaw::kOpcode:
            return fmt::format("no opcode {}", intent.opcode);
        case IntentFlaw::kClass:
            return fmt::format("no class {}", intent.transfer_class);
        case IntentFlaw::kCount:
            return intent.count == 0 ? std::string("count is 0")
                                     : fmt::format("{} blocks without a gather list", intent.count);
        case IntentFlaw::kList:
            return fmt::format("{} takes no gather list", opcode_name(intent));
        case IntentFlaw::kTenant:
            return "a tenant that is all";
        case IntentFlaw::kArgument:
            return intent.argument == 0 ? std::string("a pin of 0 ms")
                                        : fmt::format("no tenant {}", intent.argument);
        case IntentFlaw::kLength:
            return "a move of length 0";
        case IntentFlaw::kWindow:
            return fmt::format("no window {}", intent.target >> 48);
        case IntentFlaw::kSlot:
            return "a slot above 2^32";
    }
    throw InvariantError("unknown flaw of an intent");
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

std::string key_text(const block::BlockKey& key) {
    return fmt::format("{:016x}{:016x}", key.high, key.low);
}

std::uint64_t bytes_of(std::uint32_t length_4k) { return length_4k * engine::kGranule.count; }

/// Number, kind, time and queue of a record.
Json begin(std::size_t number, const char* kind, const Record& record) {
    Json row;
    row["n"] = number;
    row["record"] = kind;
    row["time_ps"] = record.timed ? Json(record.head.time_ps) : Json();
    row["queue"] = record.timed ? Json(record.head.queue) : Json();
    return row;
}

Json intent_row(std::size_t number, const Record& record) {
    const Intent& intent = record.intent;
    const std::uint64_t low = intent.target & ((std::uint64_t{1} << 48) - 1);
    const bool list = (intent.flags & engine::kGatherList) != 0;
    Json row = begin(number, "intent", record);
    row["id"] = intent.id;
    row["opcode"] = opcode_name(intent);
    row["class"] = class_name(intent);
    row["priority"] = intent.priority;
    row["tenant"] = intent.tenant;
    row["count"] = intent.count;
    row["flags"] = flags_of(intent);
    row["key"] = list ? "" : key_text({intent.key_high, intent.key_low});
    row["window"] = intent.target >> 48;
    row["slot"] = list ? Json() : Json(low);
    row["list"] = list ? Json(fmt::format("{:#x}", low)) : Json();
    row["bytes"] = bytes_of(intent.length_4k);
    row["deadline_ns"] = intent.deadline_ns;
    row["argument"] = intent.argument;
    row["epoch"] = intent.epoch;
    row["boot_generation"] = intent.boot_generation;
    row["flaw"] = flaw_text(intent);
    return row;
}

/// An entry of a gather list. Those of policy changes are of another form, and stay as they are.
Json block_row(std::size_t number, const Record& record, std::size_t i) {
    const GatherEntry& entry = record.list[i];
    const auto opcode = static_cast<Opcode>(record.intent.opcode);
    const bool last = i + 1 == record.list.size();
    Json row = begin(number, "block", record);
    row["id"] = record.intent.id;
    row["block"] = i;
    row["key"] = key_text(entry.key());
    row["slot"] = entry.slot;
    row["bytes"] = bytes_of(entry.length());
    row["flaw"] = engine::is_move(opcode) && !engine::fits(record.intent, entry, last)
                      ? "another length than the descriptor's"
                      : "";
    return row;
}

Json completion_row(std::size_t number, const Record& record) {
    Json row = begin(number, "completion", record);
    row["id"] = record.completion.id;
    row["status"] = engine::kStatusNames[record.completion.status];
    row["argument"] = record.completion.argument;
    return row;
}

Json event_row(std::size_t number, const Record& record) {
    const IntentEventBody& event = record.event;
    Json row = begin(number, "event", record);
    switch (record.head.event) {
        case IntentEvent::kNone:
            break;
        case IntentEvent::kDoorbell:
            row["event"] = "doorbell";
            row["tail"] = event.detail;
            return row;
        case IntentEvent::kTakenIn:
            row["event"] = "taken-in";
            row["id"] = event.id;
            return row;
        case IntentEvent::kCrossed:
            row["event"] = "crossed";
            row["id"] = event.id;
            row["block"] = event.detail;
            row["from_ps"] = event.from_ps;
            row["until_ps"] = event.until_ps;
            return row;
        case IntentEvent::kDropped:
            row["event"] = "dropped";
            return row;
    }
    throw InvariantError("unknown event of an intent");
}

std::vector<Json> rows_of(std::size_t number, const Record& record) {
    switch (record.head.record) {
        case IntentRecord::kIntent: {
            std::vector<Json> rows{intent_row(number, record)};
            for (std::size_t i = 0; i < record.list.size(); ++i) {
                rows.push_back(block_row(number, record, i));
            }
            return rows;
        }
        case IntentRecord::kCompletion:
            return {completion_row(number, record)};
        case IntentRecord::kEvent:
            return {event_row(number, record)};
    }
    throw InvariantError("unknown record of an intent log");
}

// --- for people ---------------------------------------------------------------------------------

/// Microseconds, to the picosecond.
std::string us(std::uint64_t ps) { return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000); }

/// What an intent's argument means.
std::string argument_text(const Record& record) {
    const std::uint32_t argument = record.intent.argument;
    switch (static_cast<Opcode>(record.intent.opcode)) {
        case Opcode::kCancel:
            return fmt::format("of {}", argument);
        case Opcode::kShare:
            return argument == engine::kEveryTenant ? std::string("with all")
                                                    : fmt::format("with {}", argument);
        case Opcode::kPin:
            return fmt::format("{} ms", argument);
        case Opcode::kRetain:
            return fmt::format("score {}", argument);
        case Opcode::kReEncode:
            return fmt::format("codec {}", argument);
        default:
            return argument == 0 ? std::string("-") : fmt::format("{}", argument);
    }
}

constexpr std::string_view kColumns =
    "{:>6} {:>16} {:>2} {:>6} {:<13} {:<8} {:>4} {:>6} {:>5} {:<32} {:>3}:{:<10} {:>10} {:>14} "
    "{:<9} {:>5} {:>4} {}{}\n";

void print_head(std::ostream& out) {
    out << fmt::format(kColumns, "n", "us", "q", "id", "opcode", "class", "prio", "tenant", "count",
                       "key", "win", "slot", "bytes", "deadline ns", "argument", "epoch", "boot",
                       "flags", "");
}

std::string flaw_behind(const Json& row) {
    const auto flaw = row["flaw"].get<std::string>();
    return flaw.empty() ? "" : "  FLAW: " + flaw;
}

std::string time_text(const Record& record) {
    return record.timed ? us(record.head.time_ps) : std::string("-");
}

std::string queue_text(const Record& record) {
    return record.timed ? fmt::format("{}", record.head.queue) : std::string("-");
}

void print_intent(const Json& row, const Record& record, std::ostream& out) {
    const auto text = [&](const char* key) { return row[key].get<std::string>(); };
    const Intent& intent = record.intent;
    const std::string what =
        row["list"].is_null() ? text("key") : fmt::format("list {}", text("list"));
    const std::string where = row["slot"].is_null() ? std::string("-") : row["slot"].dump();
    out << fmt::format(kColumns, row["n"].get<std::size_t>(), time_text(record), queue_text(record),
                       intent.id, text("opcode"), text("class"), intent.priority, intent.tenant,
                       intent.count, what, intent.target >> 48, where,
                       row["bytes"].get<std::uint64_t>(), intent.deadline_ns, argument_text(record),
                       intent.epoch, intent.boot_generation, text("flags"), flaw_behind(row));
}

/// What is no descriptor: who, and what of it.
void print_other(const Json& row, const Record& record, std::ostream& out) {
    const std::string id = row.contains("id") ? row["id"].dump() : std::string("-");
    std::string what;
    if (row["record"] == "block") {
        what = fmt::format("  block {:>5} {} slot {} {} B{}", row["block"].get<std::size_t>(),
                           row["key"].get<std::string>(), row["slot"].get<std::uint32_t>(),
                           row["bytes"].get<std::uint64_t>(), flaw_behind(row));
    } else if (row["record"] == "completion") {
        what = fmt::format("completion: {}, argument {}", row["status"].get<std::string>(),
                           row["argument"].get<std::uint64_t>());
    } else if (row["event"] == "doorbell") {
        what = fmt::format("doorbell, tail {}", record.event.detail);
    } else if (row["event"] == "crossed") {
        what = fmt::format("block {} crossed, {} to {} us", record.event.detail,
                           us(record.event.from_ps), us(record.event.until_ps));
    } else {
        what = row["event"] == "taken-in" ? "taken in by the card" : "all under way dropped";
    }
    out << fmt::format("{:>6} {:>16} {:>2} {:>6} {}\n", row["n"].get<std::size_t>(),
                       time_text(record), queue_text(record), id, what);
}

}  // namespace

int print_intents(const std::string& path, bool json, std::ostream& out) {
    Reader reader(path);
    bool flawed = false;
    Json rows = Json::array();
    if (!json) print_head(out);
    Record record;
    for (std::size_t n = 0; reader.next(record); ++n) {
        for (Json& row : rows_of(n, record)) {
            flawed = flawed || (row.contains("flaw") && row["flaw"] != "");
            if (json) {
                rows.push_back(std::move(row));
            } else if (row["record"] == "intent") {
                print_intent(row, record, out);
            } else {
                print_other(row, record, out);
            }
        }
    }
    if (json) out << Json{{"schema", "kvplane.trace/1"}, {"rows", rows}}.dump(2) << '\n';
    finish(out);
    return flawed ? 1 : 0;
}

}  // namespace kvplane::explore
