// SPDX-License-Identifier: Apache-2.0
/// The built `kvplane` command as a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace kvplane::test {

struct Outcome {
    int exit_code = 0;  ///< -1: ended by a signal
    std::string out;
    std::string err;
};

/// A process that runs the command, its output in files of `folder`, which is its working
/// directory.
class Command {
public:
    Command(const std::filesystem::path& folder, const std::vector<std::string>& arguments);

    [[nodiscard]] Outcome wait();
    /// SIGKILL, and waits.
    void kill();

private:
    std::filesystem::path m_out;
    std::filesystem::path m_err;
    pid_t m_pid;
};

[[nodiscard]] std::string read_text(const std::filesystem::path& path);

/// Runs the command in an empty folder of the test's own, which goes with it.
class CommandTest : public testing::Test {
protected:
    using Arguments = std::vector<std::string>;

    CommandTest();
    ~CommandTest() override { std::filesystem::remove_all(m_folder); }

    [[nodiscard]] Outcome kvplane(const Arguments& arguments) const {
        return Command(m_folder, arguments).wait();
    }
    /// Makes a file in the folder; returns its name.
    std::string write(const std::string& name, const std::string& text) const;

    std::filesystem::path m_folder;
};

}  // namespace kvplane::test
