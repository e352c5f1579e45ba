// SPDX-License-Identifier: Apache-2.0
#include "explore/control_form.h"

#include "host_driver/control/spec_text.h"

namespace kvplane::explore {
namespace {

/// A Form over a pair of parse and print functions; `examples` are legal texts.
template <class T, class Parse>
Form<T> text_form(const std::string& type, const std::string& range,
                  const std::vector<std::string>& examples, Parse parse) {
    Form<T> form;
    form.type = type;
    form.range = range;
    form.parse = [type, parse](const Value& value) { return parse(scalar_text(value, type)); };
    form.print = [](const T& value) { return control::to_string(value); };
    form.examples = examples;
    return form;
}

std::string joined(std::span<const std::string_view> names) {
    std::vector<std::string> texts(names.begin(), names.end());
    return join(texts);
}

}  // namespace

Form<control::PolicySpec> policy_form() {
    std::vector<std::string> examples;
    for (const std::string_view name : control::replacement_names()) {
        examples.push_back(control::to_string(control::parse_policy(name)));
    }
    examples.insert(examples.end(), {"lfu state=full", "lru-2 clock=request state=ghosts(4096)",
                                     "ema alpha=5% clock=wall state=sketch(64KiB)"});
    return text_form<control::PolicySpec>(
        "policy",
        joined(control::replacement_names()) +
            "; with state=reset|ghosts(N)|sketch(BYTES)|full, clock=access|request|wall, alpha=P%",
        examples, control::parse_policy);
}

Form<control::StateSpec> state_form() {
    return text_form<control::StateSpec>("state", "reset, ghosts(N), sketch(BYTES), full",
                                         {"reset", "ghosts(4096)", "sketch(64KiB)", "full"},
                                         control::parse_state);
}

Form<control::AdmissionSpec> admission_form() {
    return text_form<control::AdmissionSpec>(
        "admission", "none, horizon [h=TIME], counter [references=N] [sketch=BYTES]",
        {"none", "horizon", "horizon h=60s", "counter references=3 sketch=128KiB"},
        control::parse_admission);
}

Form<control::StoreSpec> store_form() {
    return text_form<control::StoreSpec>(
        "store rule",
        "all, threshold [references=N] [counter=full|ghosts(N)|sketch(BYTES)], predicted "
        "[horizon=TIME] [probability=P%], intent",
        {"all", "threshold", "threshold references=3 counter=ghosts(64000)",
         "predicted horizon=60s probability=50%", "intent"},
        control::parse_store);
}

Form<std::optional<control::Preset>> preset_form() {
    std::vector<std::pair<std::string, std::optional<control::Preset>>> names{
        {"none", std::nullopt}};
    for (const std::string_view name : control::preset_names()) {
        names.emplace_back(name, static_cast<control::Preset>(names.size() - 1));
    }
    return choice(std::move(names));
}

}  // namespace kvplane::explore
