// SPDX-License-Identifier: Apache-2.0
#include "explore/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <ostream>

#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
    throw UserError(fmt::format("{}: cannot be written: {}", path, why));
}

/// A file that is there and is none that a new one could replace, or a link that leads nowhere yet.
bool written_in_place(const std::string& path) {
    std::error_code ignored;  // what cannot be looked at fails when it is written
    const fs::file_status status = fs::status(path, ignored);
    if (fs::exists(status)) return !fs::is_regular_file(status);
    return fs::is_symlink(fs::symlink_status(path, ignored));
}

/// The name that a new file takes: of a link, what it names.
fs::path name_of(const std::string& path) {
    std::error_code ignored;  // nothing is there: the name stands as it is
    const fs::path found = fs::canonical(path, ignored);
    return found.empty() ? fs::path(path) : found;
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : m_path(path) {
    if (written_in_place(path)) {
        m_file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (m_file < 0) fail(path, std::strerror(errno));
        return;
    }
    m_target = name_of(path).string();
    for (int i = 0; m_file < 0; ++i) {
        m_partial = fmt::format("{}.partial-{}-{}", m_target, getpid(), i);
        m_file = open(m_partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (m_file < 0 && errno != EEXIST) fail(path, std::strerror(errno));
    }
    struct stat old {};
    if (stat(m_target.c_str(), &old) == 0 && fchmod(m_file, old.st_mode & 07777U) != 0) {
        const int error = errno;
        drop();
        fail(path, std::strerror(error));
    }
}

OutputFile::~OutputFile() { drop(); }

void OutputFile::drop() {
    if (m_file >= 0) close(m_file);
    m_file = -1;
    std::error_code ignored;  // it is gone where it took the target's name
    if (!m_partial.empty()) fs::remove(m_partial, ignored);
    m_partial.clear();
}

void OutputFile::write(std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(m_file, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) fail(m_path, std::strerror(errno));
        text.remove_prefix(static_cast<std::size_t>(n));
    }
}

void OutputFile::keep() {
    const int file = m_file;
    m_file = -1;
    if (close(file) != 0) fail(m_path, std::strerror(errno));
    if (m_partial.empty()) return;
    if (std::rename(m_partial.c_str(), m_target.c_str()) != 0) fail(m_path, std::strerror(errno));
    m_partial.clear();
}

void write_file(const std::string& path, const std::string& text) {
    OutputFile file(path);
    file.write(text);
    file.keep();
}

void make_folder(const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw UserError(fmt::format("--out {}: {}", folder, error.message()));
    const std::string probe = folder + "/.probe";
    write_file(probe, "");
    std::filesystem::remove(probe, error);
}

void finish(std::ostream& out) {
    if (!out.flush()) throw UserError("cannot write the output: is the disk full?");
}

ProgressLine::~ProgressLine() {
    if (m_shown != 0) *m_out << std::endl;
}

void ProgressLine::show(const std::string& text) {
    if (m_out == nullptr) return;
    *m_out << fmt::format("\r{:<{}}", text, m_shown) << std::flush;
    m_shown = std::max(m_shown, text.size());
}

}  // namespace kvplane::explore
