// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "explore/output.h"

namespace kvplane::explore {

/// A file that a simulation writes while it runs: an OutputFile with a buffer. What goes wrong is
/// kept, since nothing may be thrown through the kernel: the simulation pauses, and finish() tells.
class SimulationFile {
public:
    /// Throws UserError.
    explicit SimulationFile(const std::string& path) : m_file(path) {}

    void write(std::string_view text);
    /// Throws UserError for what went wrong so far.
    void check() const;
    /// Writes what is left, and gives the file its name. Throws UserError, also for what went wrong
    /// before.
    void finish();

private:
    static constexpr std::size_t kBuffer = std::size_t{1} << 20;

    OutputFile m_file;
    std::string m_buffer;
    std::string m_error;  ///< empty: none
};

}  // namespace kvplane::explore
