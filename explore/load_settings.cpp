// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "explore/settings.h"
#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

namespace fs = std::filesystem;

/// A --set option, taken apart.
struct Assignment {
    std::string path;
    std::string text;
};

class Loader {
public:
    explicit Loader(Table& table) : m_table(table), m_origins(table.rows().size(), "default") {}

    /// Reads the keys of `section` from a file.
    void load_file(const std::string& file, const std::string& section) {
        std::error_code ignored;  // a path that cannot be resolved is reported when it is read
        const std::string id = fs::weakly_canonical(file, ignored).string();
        if (std::find(m_reading.begin(), m_reading.end(), id) != m_reading.end()) {
            throw UserError(file + ": includes itself");
        }
        m_reading.push_back(id);
        m_files.push_back(id);
        const Value root = read_yaml_file(file);
        for (const Entry& entry : root.entries) {
            if (entry.key == "include") include(entry, file, section);
        }
        for (const Entry& entry : root.entries) {
            if (entry.key != "include") apply_entry(entry, file, section);
        }
        m_reading.pop_back();
    }

    [[nodiscard]] const std::vector<std::string>& files() const { return m_files; }

    void apply_sets(std::span<const std::string> sets, const std::string& config) {
        std::vector<Assignment> assignments;
        for (const std::string& set : sets) assignments.push_back(take_apart(set));
        // Whole sections first: a file must not undo the keys that were set by hand.
        std::stable_partition(assignments.begin(), assignments.end(), [&](const Assignment& a) {
            return m_table.find_section(a.path) != nullptr;
        });
        for (const Assignment& assignment : assignments) apply_set(assignment, config);
    }

    [[nodiscard]] std::vector<Setting> settings() const {
        std::vector<Setting> out;
        for (std::size_t i = 0; i < m_origins.size(); ++i) {
            const Row& row = m_table.rows()[i];
            out.push_back({row.info, row.print(), m_origins[i]});
        }
        return out;
    }

private:
    [[noreturn]] static void fail(const std::string& place, const std::string& key,
                                  const std::string& what) {
        throw UserError(fmt::format("{}: {}: {}", place, key, what));
    }

    static std::string place_of(const std::string& file, int line) {
        return fmt::format("{}:{}", file, line);
    }

    void include(const Entry& entry, const std::string& file, const std::string& section) {
        const bool list = entry.value.kind == Value::Kind::kList;
        const std::vector<Value> names = list ? entry.value.items : std::vector{entry.value};
        for (const Value& name : names) {
            load_file(find_file(name, file, place_of(file, entry.line), "include"), section);
        }
    }

    /// The file that `name` means, seen from the file `beside`.
    static std::string find_file(const Value& name, const std::string& beside,
                                 const std::string& place, const std::string& key) {
        std::string path;
        try {
            path = file_path().parse(name).expanded();
        } catch (const std::invalid_argument& e) {
            fail(place, key, e.what());
        }
        std::error_code none;
        if (fs::exists(path, none)) return path;
        std::string sibling = (fs::path(beside).parent_path() / path).string();
        if (fs::exists(sibling, none)) return sibling;
        fail(place, key,
             fmt::format("there is no file '{}'{}", path,
                         sibling == path ? "" : fmt::format(", nor '{}'", sibling)));
    }

    void apply_entry(const Entry& entry, const std::string& file, const std::string& section) {
        const std::string place = place_of(file, entry.line);
        const std::string path = join_path(section, entry.key);
        if (entry.key.find('.') != std::string::npos) {
            fail(place, path, "a key in a file has no dots; nest it, or use --set");
        }
        if (const Row* row = m_table.find(path)) {
            assign(*row, entry.value, place);
        } else if (const Section* below = m_table.find_section(path)) {
            apply_section(*below, entry.value, file, place);
        } else {
            fail(place, path, "unknown key; " + m_table.suggest(section, entry.key));
        }
    }

    void apply_section(const Section& section, const Value& value, const std::string& file,
                       const std::string& place) {
        const bool mapping = value.kind == Value::Kind::kMap;
        if (!mapping && section.from_file && value.kind == Value::Kind::kScalar) {
            take_from_file(section, find_file(value, file, place, section.path));
            return;
        }
        if (!mapping) {
            fail(place, section.path,
                 fmt::format("must be a mapping{} with the keys {}",
                             section.from_file ? " (or the path of a file)" : "",
                             join(m_table.children(section.path))));
        }
        for (const Entry& entry : value.entries) apply_entry(entry, file, section.path);
    }

    void take_from_file(const Section& section, const std::string& file) {
        for (std::size_t i = 0; i < m_origins.size(); ++i) {
            const Row& row = m_table.rows()[i];
            if (!row.info.path.starts_with(section.path + ".")) continue;
            row.reset();
            m_origins[i] = "default";
        }
        load_file(file, section.path);
    }

    void assign(const Row& row, const Value& value, const std::string& place) {
        try {
            row.assign(value);
        } catch (const std::invalid_argument& e) {
            fail(place, row.info.path, e.what());
        }
        m_origins[static_cast<std::size_t>(&row - m_table.rows().data())] = place;
    }

    static Assignment take_apart(const std::string& set) {
        const std::size_t equals = set.find('=');
        if (equals == std::string::npos || equals == 0) {
            throw UserError(fmt::format("--set: '{}' must have the form path=value", set));
        }
        return {set.substr(0, equals), set.substr(equals + 1)};
    }

    void apply_set(const Assignment& set, const std::string& config) {
        if (const Row* row = m_table.find(set.path)) {
            assign(*row, value_of(set), "--set");
        } else if (const Section* section = m_table.find_section(set.path)) {
            apply_section(*section, value_of(set), config, "--set");
        } else {
            reject_path(set.path);
        }
    }

    /// A scalar as it stands; only null and lists are read as YAML.
    static Value value_of(const Assignment& set) {
        if (set.text.starts_with('[')) return parse_yaml_value(set.text, "--set: " + set.path);
        Value value;
        if (set.text.empty() || set.text == "null" || set.text == "~") return value;
        value.kind = Value::Kind::kScalar;
        value.text = set.text;
        return value;
    }

    /// Says which step of a path is wrong.
    [[noreturn]] void reject_path(const std::string& path) const {
        std::string section;
        std::size_t start = 0;
        std::string name = path.substr(0, path.find('.'));
        while (m_table.find_section(join_path(section, name)) != nullptr) {
            section = join_path(section, name);
            start += name.size() + 1;
            name = path.substr(start, path.find('.', start) - start);
        }
        const std::string wrong = join_path(section, name);
        if (m_table.find(wrong) != nullptr) {
            fail("--set", path, fmt::format("unknown key; '{}' has no keys below it", wrong));
        }
        fail("--set", path, "unknown key; " + m_table.suggest(section, name));
    }

    Table& m_table;
    std::vector<std::string> m_origins;  ///< of each row
    std::vector<std::string> m_reading;  ///< files that are open, outermost first
    std::vector<std::string> m_files;    ///< that were opened
};

}  // namespace

Settings load_settings(Table& table, const std::string& path, std::span<const std::string> sets) {
    Loader loader(table);
    if (!path.empty()) loader.load_file(path, "");
    loader.apply_sets(sets, path);
    return {path, loader.settings(), loader.files()};
}

Settings load_sets(Table& table, std::span<const std::string> sets) {
    Loader loader(table);
    loader.apply_sets(sets, "--set");
    return {"--set", loader.settings()};
}

}  // namespace kvplane::explore
