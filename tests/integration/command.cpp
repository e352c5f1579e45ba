// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/support/shared_data.h"

namespace kvplane::test {
namespace {

constexpr int kCannotStart = 127;

void redirect(const std::filesystem::path& path, int descriptor) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || dup2(file, descriptor) < 0) _exit(kCannotStart);
    close(file);
}

}  // namespace

Command::Command(const std::filesystem::path& folder, const std::vector<std::string>& arguments)
    : m_out(folder / "stdout.txt"), m_err(folder / "stderr.txt") {
    const std::string program = command_path().string();
    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    m_pid = fork();
    if (m_pid != 0) return;
    redirect(m_out, STDOUT_FILENO);
    redirect(m_err, STDERR_FILENO);
    if (chdir(folder.c_str()) == 0) execv(program.c_str(), argv.data());
    _exit(kCannotStart);
}

Outcome Command::wait() {
    int status = 0;
    waitpid(m_pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(m_out), read_text(m_err)};
}

void Command::kill() {
    ::kill(m_pid, SIGKILL);
    waitpid(m_pid, nullptr, 0);
}

std::string read_text(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

CommandTest::CommandTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    m_folder = std::filesystem::path(testing::TempDir()) /
               (std::string("kvplane_") + test->test_suite_name() + "_" + test->name());
    std::filesystem::remove_all(m_folder);
    std::filesystem::create_directories(m_folder);
}

std::string CommandTest::write(const std::string& name, const std::string& text) const {
    std::ofstream(m_folder / name) << text;
    return name;
}

}  // namespace kvplane::test
