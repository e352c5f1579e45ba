// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace kvplane::test {

/// Root of the repository, e.g. to find configs/.
[[nodiscard]] inline std::filesystem::path source_dir() { return KVPLANE_SOURCE_DIR; }

/// The built `kvplane` command, for tests that run it as a process.
[[nodiscard]] inline std::filesystem::path command_path() { return KVPLANE_COMMAND; }

/// A path below the shared data folder: $KVPLANE_SHARED, else ../shared beside the repository.
[[nodiscard]] inline std::filesystem::path shared_path(const std::filesystem::path& below = {}) {
    const char* root = std::getenv("KVPLANE_SHARED");
    const auto base = root != nullptr && *root != '\0'
                          ? std::filesystem::path{root}
                          : (source_dir() / ".." / "shared").lexically_normal();
    return below.empty() ? base : base / below;
}

}  // namespace kvplane::test

/// Skips the running test when a path below the shared data folder is absent. A macro, because
/// GTEST_SKIP has to return from the test body itself.
#define KVPLANE_REQUIRE_SHARED(below)                                           \
    if (!std::filesystem::exists(kvplane::test::shared_path(below)))            \
    GTEST_SKIP() << "shared data absent: " << kvplane::test::shared_path(below) \
                 << " (set KVPLANE_SHARED to the folder that holds the traces)"
