// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "model/common/errors.h"

namespace kvplane::test {

/// A file that lives as long as this object.
class TraceFile {
public:
    explicit TraceFile(const std::string& content)
        : m_path(testing::TempDir() + "kvplane_trace_XXXXXX") {
        const int descriptor = ::mkstemp(m_path.data());
        EXPECT_GE(descriptor, 0);
        ::close(descriptor);
        std::ofstream out(m_path, std::ios::binary);
        out << content;
    }
    ~TraceFile() { std::filesystem::remove(m_path); }
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    [[nodiscard]] const std::string& path() const { return m_path; }

private:
    std::string m_path;
};

/// What the UserError of `action` says, with `path` left out; fails where there is none.
template <typename Action>
std::string user_error(const std::string& path, Action action) {
    try {
        (void)action();
    } catch (const UserError& error) {
        std::string text = error.what();
        if (text.starts_with(path)) text.erase(0, path.size());
        return text;
    }
    ADD_FAILURE() << "no UserError";
    return {};
}

}  // namespace kvplane::test
