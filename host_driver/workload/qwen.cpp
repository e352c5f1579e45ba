// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/qwen.h"

#include <array>
#include <unordered_map>
#include <unordered_set>

#include "host_driver/workload/json_record.h"
#include "host_driver/workload/json_trace.h"
#include "host_driver/workload/line_reader.h"

namespace kvplane::workload {
namespace {

enum Key : std::size_t { kChatId, kParentChatId, kTimestamp, kInputLength, kOutputLength };
constexpr std::array<std::string_view, 5> kKeys{"chat_id", "parent_chat_id", "timestamp",
                                                "input_length", "output_length"};
constexpr std::int64_t kNoParent = -1;

/// Numbers the sessions of chats, from 1 in order of appearance.
class ChatSessions {
public:
    /// The session of a chat; 0 where that chat has been seen before.
    std::uint32_t add(std::int64_t chat, std::int64_t parent) {
        if (!m_seen.insert(chat).second) return 0;
        if (parent != kNoParent) m_session[chat] = session_of(parent);
        return session_of(chat);
    }

private:
    std::uint32_t session_of(std::int64_t chat) {
        const auto [it, fresh] = m_session.try_emplace(chat, m_count + 1);
        m_count += fresh ? 1 : 0;
        return it->second;
    }

    std::unordered_map<std::int64_t, std::uint32_t> m_session;
    std::unordered_set<std::int64_t> m_seen;
    std::uint32_t m_count = 0;
};

}  // namespace

RawTrace read_qwen(const std::string& path) {
    LineReader lines(path);
    RawTrace trace{.path = path, .tokens_per_id = kQwenTokensPerId};
    JsonRecord record({.keys = kKeys, .ids_key = "hash_ids", .other_keys = true});
    ChatSessions sessions;
    while (lines.next()) {
        record.parse(lines);
        RawRequest request;
        request.line = lines.number();
        request.stamp = record.time(kTimestamp, kSeconds);
        request.input_tokens = read_tokens(record, kInputLength);
        request.output_tokens = read_tokens(record, kOutputLength);
        const std::int64_t chat = record.integer(kChatId);
        const std::int64_t parent = record.integer(kParentChatId);
        if (parent == chat && chat != kNoParent) {
            record.fail(kKeys[kParentChatId], std::to_string(chat) + " is the chat itself");
        }
        request.session = sessions.add(chat, parent);
        if (request.session == 0) {
            record.fail(kKeys[kChatId], std::to_string(chat) + " stands on an earlier line, too");
        }
        append_with_ids(trace, request, record, "hash_ids");
    }
    return trace;
}

}  // namespace kvplane::workload
