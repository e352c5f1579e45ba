// SPDX-License-Identifier: Apache-2.0
#include "explore/settings.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <ostream>

#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

std::vector<std::string_view> split_path(std::string_view path) {
    std::vector<std::string_view> names;
    for (std::size_t start = 0; start <= path.size();) {
        const std::size_t dot = std::min(path.find('.', start), path.size());
        names.push_back(path.substr(start, dot - start));
        start = dot + 1;
    }
    return names;
}

}  // namespace

NumberClass Setting::number_class() const {
    if (is_default() || info.about.number_class == NumberClass::kChosen) {
        return info.about.number_class;
    }
    return NumberClass::kAssumed;
}

const Setting& Settings::at(std::string_view key) const {
    const auto found = std::find_if(m_settings.begin(), m_settings.end(),
                                    [&](const Setting& s) { return s.info.path == key; });
    if (found == m_settings.end()) throw InvariantError("no config key " + std::string(key));
    return *found;
}

void Settings::derive(std::string_view key, const std::string& value, const std::string& origin) {
    Setting& setting = m_settings[static_cast<std::size_t>(&at(key) - m_settings.data())];
    setting.value = value;
    setting.origin = origin;
}

void Settings::require(bool holds, std::initializer_list<std::string_view> keys,
                       const std::string& message) const {
    if (holds) return;
    const auto given = std::find_if(keys.begin(), keys.end(), [&](std::string_view key) {
        return at(key).origin != "default";
    });
    const std::string place = given == keys.end() ? m_file : at(*given).origin;
    const std::string_view key = given == keys.end() ? *keys.begin() : *given;
    throw UserError(fmt::format("{}: {}: {}", place, key, message));
}

void Settings::write_effective(std::ostream& out) const {
    std::vector<std::string_view> open;
    for (const Setting& setting : m_settings) {
        const std::vector<std::string_view> names = split_path(setting.info.path);
        std::size_t depth = 0;
        while (depth < open.size() && depth + 1 < names.size() && open[depth] == names[depth]) {
            ++depth;
        }
        for (; depth + 1 < names.size(); ++depth) {
            out << std::string(2 * depth, ' ') << names[depth] << ":\n";
        }
        const std::string line =
            fmt::format("{}{}: {}", std::string(2 * depth, ' '), names.back(), setting.value);
        out << fmt::format("{:<56}  # {}\n", line, setting.origin);
        open.assign(names.begin(), names.end() - 1);
    }
}

std::string Settings::hash() const {
    std::string text;
    for (const Setting& setting : m_settings) {
        text += fmt::format("{}: {}\n", setting.info.path, setting.value);
    }
    return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace kvplane::explore
