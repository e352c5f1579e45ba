// SPDX-License-Identifier: Apache-2.0
/// Where results go: files, standard output, and a line that says how far the work is.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace kvplane::explore {

/// A file on its way. A regular file, or one that is not there yet, appears at once, when it is
/// kept: until then what is written goes to a file beside it with a name of its own, which is
/// removed unless it is kept; a process that is killed leaves that one behind. A symbolic link
/// keeps standing, and what it names is written. Devices, pipes and the like are written as they
/// are. All members throw UserError where something cannot be done.
class OutputFile {
public:
    explicit OutputFile(const std::string& path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void write(std::string_view text);
    /// All has been written.
    void keep();

private:
    void drop();

    std::string m_path;     ///< as given
    std::string m_target;   ///< what will have the name
    std::string m_partial;  ///< the file beside it; empty where there is none
    int m_file = -1;
};

/// Writes `text` to `path`, as an OutputFile.
void write_file(const std::string& path, const std::string& text);

/// Makes a folder for results, and the folders above it. Finds out now, and not after long work,
/// whether it can be written. Throws UserError, which names --out, where it cannot.
void make_folder(const std::string& folder);

/// Flushes `out`. Throws UserError where anything written to it was lost.
void finish(std::ostream& out);

/// One line of a terminal, written over and over.
class ProgressLine {
public:
    /// nullptr: says nothing. `out` must outlive this.
    explicit ProgressLine(std::ostream* out) : m_out(out) {}
    /// Ends the line, so that what follows, an error for instance, has its own.
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(const std::string& text);

private:
    std::ostream* m_out;
    std::size_t m_shown = 0;  ///< characters on the line
};

}  // namespace kvplane::explore
