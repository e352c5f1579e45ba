// SPDX-License-Identifier: Apache-2.0
#include "explore/file_path.h"

#include <cstdlib>
#include <string_view>

namespace kvplane::explore {

std::string FilePath::expanded() const {
    constexpr std::string_view kVariable = "${KVPLANE_SHARED}";
    const char* shared = std::getenv("KVPLANE_SHARED");
    const std::string folder = shared != nullptr && *shared != '\0' ? shared : "../shared";
    std::string out = text;
    for (std::size_t at = out.find(kVariable); at != std::string::npos;
         at = out.find(kVariable, at + folder.size())) {
        out.replace(at, kVariable.size(), folder);
    }
    return out;
}

}  // namespace kvplane::explore
