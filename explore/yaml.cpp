// SPDX-License-Identifier: Apache-2.0
#include "explore/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

/// Deeper or larger than any config; bounds what aliases can expand to.
constexpr int kDeepest = 32;
constexpr int kMostNodes = 100'000;

/// Turns the nodes of yaml-cpp into Values.
class Converter {
public:
    explicit Converter(std::string file) : m_file(std::move(file)) {}

    Value convert(const YAML::Node& node, int depth) {
        const int line = line_of(node);
        if (depth > kDeepest || ++m_nodes > kMostNodes)
            fail(line, "is nested too deeply or too large");
        const std::string& tag = node.Tag();
        if (!tag.empty() && tag != "?" && tag != "!") {
            fail(line, fmt::format("has the tag '{}'; tags are not supported", tag));
        }
        Value value;
        value.line = line;
        if (node.IsScalar()) {
            value.kind = Value::Kind::kScalar;
            value.text = node.Scalar();
            value.quoted = tag == "!";
        } else if (node.IsSequence()) {
            value.kind = Value::Kind::kList;
            for (const YAML::Node& item : node) value.items.push_back(convert(item, depth + 1));
        } else if (node.IsMap()) {
            value.kind = Value::Kind::kMap;
            convert_entries(node, depth, value);
        }
        return value;
    }

private:
    static int line_of(const YAML::Node& node) { return std::max(node.Mark().line, 0) + 1; }

    /// The key that is being read stands before `what`.
    [[noreturn]] void fail(int line, const std::string& what) const {
        throw UserError(m_file, line, (m_key.empty() ? "the file" : m_key) + " " + what);
    }

    void convert_entries(const YAML::Node& node, int depth, Value& map) {
        for (const auto& entry : node) {
            const int line = line_of(entry.first);
            if (!entry.first.IsScalar()) {
                throw UserError(m_file, line, "a key must be a plain word");
            }
            m_key = entry.first.Scalar();
            if (m_key == "<<") {
                fail(line, "(a merge key) is not supported; use 'include' to build on a file");
            }
            const auto same = std::find_if(map.entries.begin(), map.entries.end(),
                                           [&](const Entry& e) { return e.key == m_key; });
            if (same != map.entries.end()) {
                fail(line, fmt::format("is given twice; it is on line {} already", same->line));
            }
            map.entries.push_back({m_key, line, convert(entry.second, depth + 1)});
        }
    }

    std::string m_file;
    std::string m_key;
    int m_nodes = 0;
};

std::string read_text(const std::string& path) {
    std::error_code none;
    if (std::filesystem::is_directory(path, none)) throw UserError(path + ": is a folder");
    std::ifstream in(path, std::ios::binary);
    if (!in) throw UserError(path + ": cannot be read; is the path right?");
    std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    return text;
}

/// yaml-cpp takes some control characters for the end of the file and drops what follows.
void refuse_control_characters(const std::string& text, const std::string& file) {
    int line = 1;
    for (const char c : text) {
        if (c == '\n') ++line;
        const bool space = c == '\n' || c == '\r' || c == '\t';
        if (static_cast<unsigned char>(c) < 0x20 && !space) {
            throw UserError(file, line,
                            fmt::format("holds the control character 0x{:02x}; is this YAML?",
                                        static_cast<unsigned char>(c)));
        }
    }
}

std::vector<YAML::Node> parse_documents(const std::string& text, const std::string& file) {
    try {
        return YAML::LoadAll(text);
    } catch (const YAML::Exception& e) {
        throw UserError(file, std::max(e.mark.line, 0) + 1, "is not YAML: " + e.msg);
    }
}

}  // namespace

Value read_yaml_file(const std::string& path) {
    const std::string text = read_text(path);
    refuse_control_characters(text, path);
    const std::vector<YAML::Node> documents = parse_documents(text, path);
    if (documents.empty() || documents.front().IsNull()) {
        throw UserError(path, 1, "the file is empty; it must hold a mapping of keys");
    }
    if (documents.size() > 1) {
        throw UserError(path, std::max(documents[1].Mark().line, 0) + 1,
                        "the file holds a second document ('---'); a config is one");
    }
    Value value = Converter(path).convert(documents.front(), 0);
    if (value.kind != Value::Kind::kMap) {
        throw UserError(path, value.line, "the file must hold a mapping of keys");
    }
    return value;
}

Value parse_yaml_value(const std::string& text, const std::string& place) {
    try {
        return Converter(place).convert(YAML::Load(text), 0);
    } catch (const YAML::Exception& e) {
        throw UserError(place + ": '" + text + "' is not YAML: " + e.msg);
    }
}

std::string yaml_quote(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

}  // namespace kvplane::explore
