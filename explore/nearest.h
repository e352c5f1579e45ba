// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kvplane::explore {

/// The candidate that `word` was most likely meant to be: the smallest edit distance (Levenshtein,
/// case ignored), if at most two letters or a third of the word differ; the first of equals. Empty:
/// none is near.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// "a, b, c".
[[nodiscard]] std::string join(std::span<const std::string> words);

}  // namespace kvplane::explore
