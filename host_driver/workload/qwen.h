// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "host_driver/workload/raw_trace.h"

namespace kvplane::workload {

/// Tokens that one id of a Qwen-Bailian trace stands for.
inline constexpr std::uint32_t kQwenTokensPerId = 16;

/// Reads a Qwen-Bailian trace: a JSON object a line with `chat_id`, `parent_chat_id` (-1 at the
/// root of a session), `timestamp` (s, from the start of the trace), `input_length` and
/// `output_length` (tokens, at least 1) and `hash_ids`, one for each 16 tokens of the prompt, the
/// last one for what is left. Its ids stand for their own tokens only, so that
/// blocks are named by the chain of ids. Other keys (`type`, `turn`) are ignored.
///
/// A session is a chat without parent together with all that descend from it; chats of one parent
/// that is not in the trace are one session. No chat is its own parent.
///
/// Throws UserError with file, line and key for anything else.
[[nodiscard]] RawTrace read_qwen(const std::string& path);

}  // namespace kvplane::workload
