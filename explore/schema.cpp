// SPDX-License-Identifier: Apache-2.0
#include "explore/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

/// The part behind the last dot.
std::string_view last_name(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

/// The name directly below `section` that leads to `path`; empty where it does not lie below.
std::string_view child_of(std::string_view section, std::string_view path) {
    if (!section.empty()) {
        if (path.size() <= section.size() || !path.starts_with(section) ||
            path[section.size()] != '.') {
            return {};
        }
        path.remove_prefix(section.size() + 1);
    }
    return path.substr(0, path.find('.'));
}

}  // namespace

std::string_view to_string(NumberClass number_class) {
    switch (number_class) {
        case NumberClass::kChosen:
            return "chosen";
        case NumberClass::kMeasured:
            return "measured";
        case NumberClass::kDerived:
            return "derived";
        case NumberClass::kSimulated:
            return "simulated";
        case NumberClass::kAssumed:
            return "assumed";
    }
    throw InvariantError("a number class without a name");
}

std::string join_path(std::string_view section, std::string_view name) {
    return section.empty() ? std::string(name) : fmt::format("{}.{}", section, name);
}

void require_list(const Value& value) {
    if (value.kind != Value::Kind::kList) {
        throw std::invalid_argument("needs a list, such as [a, b]");
    }
    if (value.items.empty())
        throw std::invalid_argument("is an empty list; give one value or more");
}

const Row* Table::find(std::string_view path) const {
    const auto at = std::find_if(m_rows.begin(), m_rows.end(),
                                 [&](const Row& row) { return row.info.path == path; });
    return at == m_rows.end() ? nullptr : &*at;
}

const Section* Table::find_section(std::string_view path) const {
    const auto at = std::find_if(m_sections.begin(), m_sections.end(),
                                 [&](const Section& section) { return section.path == path; });
    return at == m_sections.end() ? nullptr : &*at;
}

std::vector<std::string> Table::children(std::string_view section) const {
    std::vector<std::string> names;
    for (const Row& row : m_rows) {
        const std::string_view name = child_of(section, row.info.path);
        if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) continue;
        names.emplace_back(name);
    }
    return names;
}

std::string Table::suggest(std::string_view section, std::string_view name) const {
    const std::vector<std::string> siblings = children(section);
    const std::string near = nearest(name, siblings);
    if (!near.empty()) return fmt::format("did you mean '{}'?", join_path(section, near));
    for (const Row& row : m_rows) {
        if (last_name(row.info.path) == name) {
            return fmt::format("did you mean '{}'?", row.info.path);
        }
    }
    for (const Section& other : m_sections) {
        if (last_name(other.path) == name) return fmt::format("did you mean '{}'?", other.path);
    }
    return fmt::format("the keys here are {}", join(siblings));
}

void Table::add(Row row) {
    if (find(row.info.path) != nullptr || find_section(row.info.path) != nullptr) {
        throw InvariantError("two config keys are called " + row.info.path);
    }
    m_rows.push_back(std::move(row));
}

void Table::open(std::string_view name, bool from_file) {
    m_prefix = path_of(name);
    // A section that is opened twice would stand twice in the effective config.
    if (find(m_prefix) != nullptr || find_section(m_prefix) != nullptr) {
        throw InvariantError("two config keys are called " + m_prefix);
    }
    m_sections.push_back({m_prefix, from_file});
}

void Table::close() {
    const std::size_t dot = m_prefix.rfind('.');
    m_prefix.resize(dot == std::string::npos ? 0 : dot);
}

std::string Table::path_of(std::string_view name) const { return join_path(m_prefix, name); }

}  // namespace kvplane::explore
