// SPDX-License-Identifier: Apache-2.0
/// The only place that knows YAML. A file becomes a tree of Values; whatever YAML would accept in
/// silence and then read in a way that surprises (duplicate keys, a second document, tags, merge
/// keys, control characters) is refused here.
#pragma once

#include <string>
#include <vector>

namespace kvplane::explore {

struct Entry;

/// One node of a YAML document. Scalars stay text: what they mean is up to the key they belong to.
struct Value {
    enum class Kind { kNull, kScalar, kList, kMap };
    Kind kind = Kind::kNull;
    std::string text;            ///< of a scalar
    bool quoted = false;         ///< the scalar stood in quotes, so it is a string
    int line = 1;                ///< 1-based
    std::vector<Value> items;    ///< of a list
    std::vector<Entry> entries;  ///< of a mapping, in file order, keys distinct
};

struct Entry {
    std::string key;
    int line = 1;
    Value value;
};

/// The mapping that the file holds. Throws UserError with file and line: a file that cannot be
/// read or holds nothing, broken YAML, anything but one mapping, and what is named above.
[[nodiscard]] Value read_yaml_file(const std::string& path);

/// A value as it would stand behind "key: " in a file; `place` names it in errors.
[[nodiscard]] Value parse_yaml_value(const std::string& text, const std::string& place);

/// `text` in double quotes, so that YAML gives it back as it is.
[[nodiscard]] std::string yaml_quote(const std::string& text);

}  // namespace kvplane::explore
