// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kvplane::explore {

/// A path as the config gives it. The text is what the effective config and its hash show, so that
/// they do not depend on where ${KVPLANE_SHARED} lies; files are opened by expanded().
struct FilePath {
    std::string text;

    bool operator==(const FilePath&) const = default;
    /// `text` with ${KVPLANE_SHARED} replaced by that environment variable, or by ../shared where
    /// it is unset or empty.
    [[nodiscard]] std::string expanded() const;
};

}  // namespace kvplane::explore
