// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/spec_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <vector>

namespace kvplane::control {
namespace {

template <class E>
struct Name {
    std::string_view text;
    E value;
};

// The order of the enumeration.
constexpr std::array kReplacements = std::to_array<std::string_view>(
    {"lru", "fifo", "sieve", "s3-fifo", "arc", "lru-2", "slru", "lfu", "ema", "w-tinylfu", "gdsf",
     "priority", "queue-lru", "min"});
constexpr std::array kClocks = std::to_array<Name<Clock>>(
    {{"access", Clock::kAccess}, {"request", Clock::kRequest}, {"wall", Clock::kWall}});
constexpr std::array kAdmissions =
    std::to_array<Name<Admission>>({{"none", Admission::kNone},
                                    {"horizon", Admission::kHorizon},
                                    {"counter", Admission::kCounter}});
constexpr std::array kSelections =
    std::to_array<Name<Selection>>({{"all", Selection::kAll},
                                    {"threshold", Selection::kThreshold},
                                    {"predicted", Selection::kPredicted},
                                    {"intent", Selection::kIntent}});

std::string list(std::span<const std::string_view> names) {
    std::string out;
    for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
    return out;
}

[[noreturn]] void reject(std::string_view text, std::span<const std::string_view> names) {
    throw std::invalid_argument(fmt::format("'{}' is none of {}", text, list(names)));
}

template <class E, std::size_t N>
E find(const std::array<Name<E>, N>& names, std::string_view text) {
    std::vector<std::string_view> known;
    for (const auto& name : names) {
        if (name.text == text) return name.value;
        known.push_back(name.text);
    }
    reject(text, known);
}

template <class E, std::size_t N>
std::string_view print(const std::array<Name<E>, N>& names, E value) {
    for (const auto& name : names) {
        if (name.value == value) return name.text;
    }
    throw std::logic_error("an enumerator lacks a name");
}

std::uint64_t parse_count(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
        throw std::invalid_argument(fmt::format("'{}' is not a whole number", text));
    }
    return value;
}

std::uint32_t parse_small_count(std::string_view text) {
    const std::uint64_t value = parse_count(text);
    if (value > UINT32_MAX) throw std::invalid_argument(fmt::format("'{}' is too large", text));
    return static_cast<std::uint32_t>(value);
}

/// A quantity without the space before its unit.
std::string tight(std::string text) {
    std::erase(text, ' ');
    return text;
}

/// A name and its key=value words. Every key must be taken.
class Words {
public:
    explicit Words(std::string_view text) {
        while (true) {
            text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
            if (text.empty()) break;
            const std::size_t end = std::min(text.find(' '), text.size());
            m_words.push_back(text.substr(0, end));
            text.remove_prefix(end);
        }
        if (m_words.empty()) throw std::invalid_argument("a name is missing");
    }
    [[nodiscard]] std::string_view name() const { return m_words.front(); }

    std::optional<std::string_view> take(std::string_view key) {
        m_keys.push_back(key);
        for (std::size_t i = 1; i < m_words.size(); ++i) {
            const std::string_view word = m_words[i];
            if (!word.starts_with(key) || !word.substr(key.size()).starts_with('=')) continue;
            m_words.erase(m_words.begin() + static_cast<std::ptrdiff_t>(i));
            return word.substr(key.size() + 1);
        }
        return std::nullopt;
    }
    void finish() const {
        if (m_words.size() == 1) return;
        if (m_keys.empty()) {
            throw std::invalid_argument(
                fmt::format("'{}' takes nothing behind it, not '{}'", name(), m_words[1]));
        }
        throw std::invalid_argument(
            fmt::format("'{}' is unknown or given twice; '{}' takes {}, as key=value", m_words[1],
                        name(), list(m_keys)));
    }

private:
    std::vector<std::string_view> m_words;
    std::vector<std::string_view> m_keys;
};

/// The text between the brackets of "name(text)".
std::optional<std::string_view> argument(std::string_view text, std::string_view name) {
    if (!text.starts_with(name) || !text.ends_with(')')) return std::nullopt;
    text.remove_prefix(name.size());
    if (!text.starts_with('(')) return std::nullopt;
    return text.substr(1, text.size() - 2);
}

bool has_clock(Replacement replacement) {
    return replacement == Replacement::kLru2 || replacement == Replacement::kEma;
}

}  // namespace

std::span<const std::string_view> replacement_names() { return kReplacements; }

std::string_view name_of(Replacement replacement) {
    return kReplacements.at(static_cast<std::size_t>(replacement));
}

StateSpec parse_state(std::string_view text) {
    if (text == "reset") return {Lifetime::kReset, {}};
    if (text == "full") return {Lifetime::kFull, {}};
    if (const auto n = argument(text, "ghosts")) {
        return {Lifetime::kGhosts, kGhostBytes * parse_small_count(*n)};
    }
    if (const auto bytes = argument(text, "sketch")) {
        const StateSpec sketch{Lifetime::kSketch, parse_bytes(*bytes)};
        check(sketch);
        return sketch;
    }
    throw std::invalid_argument(
        fmt::format("'{}' is none of reset, full, ghosts(N), sketch(BYTES)", text));
}

std::string to_string(const StateSpec& state) {
    switch (state.lifetime) {
        case Lifetime::kReset:
            return "reset";
        case Lifetime::kFull:
            return "full";
        case Lifetime::kGhosts:
            return fmt::format("ghosts({})", ghosts(state));
        case Lifetime::kSketch:
            return fmt::format("sketch({})", tight(kvplane::to_string(state.bytes)));
    }
    throw std::logic_error("a lifetime lacks a name");
}

PolicySpec parse_policy(std::string_view text) {
    Words words(text);
    PolicySpec policy;
    const auto at = std::find(kReplacements.begin(), kReplacements.end(), words.name());
    if (at == kReplacements.end()) reject(words.name(), kReplacements);
    policy.replacement = static_cast<Replacement>(at - kReplacements.begin());
    if (keeps_state(policy.replacement)) {
        if (const auto state = words.take("state")) policy.state = parse_state(*state);
    }
    if (has_clock(policy.replacement)) {
        if (const auto clock = words.take("clock")) policy.clock = find(kClocks, *clock);
    }
    if (policy.replacement == Replacement::kEma) {
        if (const auto alpha = words.take("alpha")) policy.alpha_ppm = parse_ratio(*alpha).ppm;
    }
    words.finish();
    check(policy);
    return policy;
}

std::string to_string(const PolicySpec& policy) {
    std::string out(name_of(policy.replacement));
    if (policy.replacement == Replacement::kEma) {
        out += fmt::format(" alpha={}", tight(kvplane::to_string(Ratio{policy.alpha_ppm})));
    }
    if (has_clock(policy.replacement)) {
        out += fmt::format(" clock={}", print(kClocks, policy.clock));
    }
    if (policy.state.lifetime != Lifetime::kReset) {
        out += fmt::format(" state={}", to_string(policy.state));
    }
    return out;
}

AdmissionSpec parse_admission(std::string_view text) {
    Words words(text);
    AdmissionSpec spec;
    spec.admission = find(kAdmissions, words.name());
    if (spec.admission == Admission::kHorizon) {
        if (const auto h = words.take("h")) spec.horizon = parse_time(*h);
    }
    if (spec.admission == Admission::kCounter) {
        if (const auto n = words.take("references")) spec.references = parse_small_count(*n);
        if (const auto bytes = words.take("sketch")) spec.sketch = parse_bytes(*bytes);
    }
    words.finish();
    check(spec);
    return spec;
}

std::string to_string(const AdmissionSpec& admission) {
    const AdmissionSpec initial;
    std::string out(print(kAdmissions, admission.admission));
    if (admission.admission == Admission::kHorizon && admission.horizon != initial.horizon) {
        out += fmt::format(" h={}", tight(kvplane::to_string(admission.horizon)));
    }
    if (admission.admission == Admission::kCounter) {
        if (admission.references != initial.references) {
            out += fmt::format(" references={}", admission.references);
        }
        if (admission.sketch != initial.sketch) {
            out += fmt::format(" sketch={}", tight(kvplane::to_string(admission.sketch)));
        }
    }
    return out;
}

StoreSpec parse_store(std::string_view text) {
    Words words(text);
    StoreSpec spec;
    spec.selection = find(kSelections, words.name());
    if (spec.selection == Selection::kThreshold) {
        if (const auto n = words.take("references")) spec.references = parse_small_count(*n);
        if (const auto state = words.take("counter")) spec.counter = parse_state(*state);
    }
    if (spec.selection == Selection::kPredicted) {
        if (const auto h = words.take("horizon")) spec.horizon = parse_time(*h);
        if (const auto p = words.take("probability")) spec.probability_ppm = parse_ratio(*p).ppm;
    }
    words.finish();
    check(spec);
    return spec;
}

std::string to_string(const StoreSpec& store) {
    const StoreSpec initial;
    std::string out(print(kSelections, store.selection));
    if (store.selection == Selection::kThreshold) {
        if (store.references != initial.references) {
            out += fmt::format(" references={}", store.references);
        }
        if (store.counter.lifetime != initial.counter.lifetime) {
            out += fmt::format(" counter={}", to_string(store.counter));
        }
    }
    if (store.selection == Selection::kPredicted) {
        if (store.horizon != initial.horizon) {
            out += fmt::format(" horizon={}", tight(kvplane::to_string(store.horizon)));
        }
        if (store.probability_ppm != initial.probability_ppm) {
            out += fmt::format(" probability={}",
                               tight(kvplane::to_string(Ratio{store.probability_ppm})));
        }
    }
    return out;
}

}  // namespace kvplane::control
