// SPDX-License-Identifier: Apache-2.0
/// Config files and --set options, read into the structs behind a table.
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "explore/schema.h"

namespace kvplane::explore {

/// The effective value of one key, and where it was given.
struct Setting {
    KeyInfo info;
    std::string value;               ///< as YAML text, canonical: one text per value
    std::string origin = "default";  ///< "default", "FILE:LINE" or "--set"

    [[nodiscard]] bool is_default() const { return value == info.default_text; }
    /// The class of the value in force. A source speaks for the default only: a number that the
    /// user put in its place counts as assumed, unless the key is a free choice anyway.
    [[nodiscard]] NumberClass number_class() const;
};

/// The effective config, one Setting for every key, in the order of the table.
class Settings {
public:
    Settings(std::string file, std::vector<Setting> settings, std::vector<std::string> files = {})
        : m_file(std::move(file)), m_settings(std::move(settings)), m_files(std::move(files)) {}

    [[nodiscard]] std::span<const Setting> all() const { return m_settings; }
    /// Throws InvariantError where the table has no such key.
    [[nodiscard]] const Setting& at(std::string_view key) const;

    /// Every file that was read, by its whole path: the config, and what it names.
    [[nodiscard]] const std::vector<std::string>& files() const { return m_files; }

    /// A value that follows from another key.
    void derive(std::string_view key, const std::string& value, const std::string& origin);

    /// A rule over several keys. Unless it holds, throws UserError at the place of the first of
    /// `keys` that was given (not left at its default); `message` names what should be.
    void require(bool holds, std::initializer_list<std::string_view> keys,
                 const std::string& message) const;

    /// The config.yaml of a result: every key with its value, its origin in a comment. Loading it
    /// gives the same values and the same hash.
    void write_effective(std::ostream& out) const;
    /// XXH3 (64 bit, 16 hex digits) of all keys and values; origins do not count.
    [[nodiscard]] std::string hash() const;

private:
    std::string m_file;
    std::vector<Setting> m_settings;
    std::vector<std::string> m_files;
};

/// Reads the file, if one is named, then the `sets` ("path=value") into the fields behind `table`;
/// a later value replaces an earlier one.
/// - `include: FILE` or `[FILE, ...]` at the top of a file: read before, overridden by the file.
/// - A file_group given as a path starts from the defaults of its keys, takes those of that file,
///   and is overridden by `sets` of single keys, wherever they stand among the sets.
/// - Files named in a config are looked for from the working directory first, then beside the file
///   that names them.
/// Throws UserError.
[[nodiscard]] Settings load_settings(Table& table, const std::string& path,
                                     std::span<const std::string> sets);
/// The same without a file: defaults, and the sets.
[[nodiscard]] Settings load_sets(Table& table, std::span<const std::string> sets);

}  // namespace kvplane::explore
