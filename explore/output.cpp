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
#include <fstream>
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

void write_in_place(const std::string& path, const std::string& text) {
    errno = 0;
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out) fail(path, std::strerror(errno));
}

/// A file beside `target` that was not there before. Removed unless it takes the target's name.
class NewFile {
public:
    explicit NewFile(const fs::path& target) : m_target(target) {
        for (int i = 0; m_file < 0; ++i) {
            m_path = fmt::format("{}.partial-{}-{}", target.string(), getpid(), i);
            m_file = open(m_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (m_file < 0 && errno != EEXIST) {
                m_path.clear();
                return;
            }
        }
    }
    ~NewFile() {
        if (m_file >= 0) close(m_file);
        std::error_code ignored;  // it is gone where it took the target's name
        if (!m_path.empty()) fs::remove(m_path, ignored);
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    /// False, with errno, where that fails.
    [[nodiscard]] bool write(const std::string& text) {
        if (m_file < 0) return false;
        struct stat old {};
        if (stat(m_target.c_str(), &old) == 0 && fchmod(m_file, old.st_mode & 07777U) != 0) {
            return false;
        }
        for (std::size_t done = 0; done < text.size();) {
            const ssize_t n = ::write(m_file, text.data() + done, text.size() - done);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            done += static_cast<std::size_t>(n);
        }
        const int file = m_file;
        m_file = -1;
        return close(file) == 0 && std::rename(m_path.c_str(), m_target.c_str()) == 0;
    }

private:
    fs::path m_target;
    std::string m_path;
    int m_file = -1;
};

}  // namespace

void write_file(const std::string& path, const std::string& text) {
    if (written_in_place(path)) {
        write_in_place(path, text);
        return;
    }
    std::error_code ignored;  // nothing is there: the name stands as it is
    const fs::path found = fs::canonical(path, ignored);
    NewFile file(found.empty() ? fs::path(path) : found);
    if (!file.write(text)) fail(path, std::strerror(errno));
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
