// SPDX-License-Identifier: Apache-2.0
/// Tables of config keys. A table binds key paths to the fields of structs: one function per
/// struct adds its rows,
///
///     void describe(Table& table, cxl::LinkConfig& c) {
///         table.key("width", c.width, one_of<std::uint32_t>({1, 2, 4, 8, 16}, "lanes"),
///                   {NumberClass::kChosen, "CXL 3.x specification", "Lanes of the link."});
///     }
///
/// and everything else (loading, errors, `config show`, `config schema`, the effective config and
/// its hash) follows from the rows. A default is what the field holds when it is added, so a table
/// is made over a freshly initialised struct, which must outlive it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explore/form.h"

namespace kvplane::explore {

/// How well a number is founded.
enum class NumberClass {
    kChosen,     ///< a parameter of the design or the experiment; says nothing about the world
    kMeasured,   ///< on silicon; the source names it
    kDerived,    ///< computed from measured numbers or from a specification
    kSimulated,  ///< from somebody's simulator
    kAssumed,    ///< nothing better is known
};
[[nodiscard]] std::string_view to_string(NumberClass number_class);

/// Where a default comes from, and what the key means.
struct About {
    NumberClass number_class = NumberClass::kAssumed;
    std::string source;
    std::string description;  ///< one sentence
};

/// A key, for people: the row of `config schema`.
struct KeyInfo {
    std::string path;  ///< "card.link.width"
    std::string type;
    std::string unit;   ///< accepted units, or what an integer counts; empty: none
    std::string range;  ///< legal values
    std::string default_text;
    About about;
    std::vector<std::string> examples;  ///< legal texts
};

/// A key and the field it is bound to.
struct Row {
    KeyInfo info;
    std::function<std::string()> print;        ///< the field as YAML text
    std::function<void(const Value&)> assign;  ///< throws std::invalid_argument, see Form::parse
    std::function<void()> reset;               ///< to the default
};

/// A mapping of keys.
struct Section {
    std::string path;
    /// It may also be given as the path of a YAML file that holds the mapping.
    bool from_file = false;
};

class Table {
public:
    /// Adds a key. null is legal for an optional field.
    template <class T>
    void key(std::string_view name, T& field, Form<T> form, About about);
    template <class T>
    void key(std::string_view name, std::optional<T>& field, Form<T> form, About about);
    /// A list of at least one value.
    template <class T>
    void key(std::string_view name, std::vector<T>& field, Form<T> form, About about);

    /// `add_keys()` adds its keys below `name`.
    template <class F>
    void group(std::string_view name, F add_keys);
    /// The same, for a mapping that may also be the path of a file.
    template <class F>
    void file_group(std::string_view name, F add_keys);

    [[nodiscard]] std::span<const Row> rows() const { return m_rows; }
    [[nodiscard]] std::span<const Section> sections() const { return m_sections; }
    /// nullptr where there is none.
    [[nodiscard]] const Row* find(std::string_view path) const;
    [[nodiscard]] const Section* find_section(std::string_view path) const;
    /// Names of the keys and sections directly below a section ("" is the top).
    [[nodiscard]] std::vector<std::string> children(std::string_view section) const;
    /// A sentence on what was meant by `name`, which `section` does not have.
    [[nodiscard]] std::string suggest(std::string_view section, std::string_view name) const;

private:
    void add(Row row);
    void open(std::string_view name, bool from_file);
    void close();
    [[nodiscard]] std::string path_of(std::string_view name) const;

    std::string m_prefix;
    std::vector<Row> m_rows;
    std::vector<Section> m_sections;
};

/// "section.name", or "name" at the top.
[[nodiscard]] std::string join_path(std::string_view section, std::string_view name);
/// Throws std::invalid_argument unless the value is a list of at least one item.
void require_list(const Value& value);

template <class T>
void Table::key(std::string_view name, T& field, Form<T> form, About about) {
    Row row{{path_of(name), form.type, form.unit, form.range, form.print(field), std::move(about),
             form.examples},
            [&field, print = form.print] { return print(field); },
            [&field, parse = form.parse](const Value& value) { field = parse(value); },
            [&field, initial = field] { field = initial; }};
    add(std::move(row));
}

template <class T>
void Table::key(std::string_view name, std::optional<T>& field, Form<T> form, About about) {
    const auto print = [&field, print_value = form.print] {
        return field ? print_value(*field) : std::string("null");
    };
    const auto assign = [&field, parse = form.parse](const Value& value) {
        if (value.kind == Value::Kind::kNull) {
            field.reset();
        } else {
            field = parse(value);
        }
    };
    Row row{{path_of(name), form.type + " or null", form.unit, form.range, print(),
             std::move(about), form.examples},
            print,
            assign,
            [&field, initial = field] { field = initial; }};
    row.info.examples.emplace_back("null");
    add(std::move(row));
}

template <class T>
void Table::key(std::string_view name, std::vector<T>& field, Form<T> form, About about) {
    const auto print = [&field, print_value = form.print] {
        std::vector<std::string> texts;
        texts.reserve(field.size());
        for (const auto& item : field) texts.push_back(print_value(item));
        return "[" + join(texts) + "]";
    };
    const auto assign = [&field, parse = form.parse](const Value& value) {
        require_list(value);
        std::vector<T> items;
        for (const Value& item : value.items) items.push_back(parse(item));
        field = std::move(items);
    };
    Row row{{path_of(name),
             "list of " + form.type,
             form.unit,
             form.range,
             print(),
             std::move(about),
             {"[" + join(form.examples) + "]"}},
            print,
            assign,
            [&field, initial = field] { field = initial; }};
    for (const std::string& example : form.examples) {
        row.info.examples.push_back("[" + example + "]");
    }
    add(std::move(row));
}

template <class F>
void Table::group(std::string_view name, F add_keys) {
    open(name, false);
    add_keys();
    close();
}

template <class F>
void Table::file_group(std::string_view name, F add_keys) {
    open(name, true);
    add_keys();
    close();
}

}  // namespace kvplane::explore
