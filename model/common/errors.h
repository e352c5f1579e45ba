// SPDX-License-Identifier: Apache-2.0
/// The two kinds of failure: the user's mistakes, and our own broken invariants.
#pragma once

#include <stdexcept>
#include <string>

namespace kvplane {

/// The user's mistake in a config, a trace or the command line. what() is one line that names file,
/// line (1-based) and key, says what is wrong, and suggests what would be right. Exit code 2.
class UserError : public std::runtime_error {
public:
    explicit UserError(const std::string& message) : std::runtime_error(message) {}
    /// "FILE:LINE: MESSAGE"
    UserError(const std::string& file, int line, const std::string& message)
        : std::runtime_error(file + ":" + std::to_string(line) + ": " + message) {}
};

/// An invariant of the model is broken: our bug. what() holds the state that broke. Exit code 3.
class InvariantError : public std::logic_error {
public:
    explicit InvariantError(const std::string& message) : std::logic_error(message) {}
};

}  // namespace kvplane
