// SPDX-License-Identifier: Apache-2.0
/// The `kvplane` command. Exit codes: 0 fine; 1 a run marked invalid or a tolerance missed; 2 the
/// user's mistake; 3 a broken invariant of ours.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <systemc>
#include <vector>

#include "explore/config.h"
#include "explore/config_report.h"
#include "explore/nearest.h"
#include "explore/output.h"
#include "explore/place.h"
#include "explore/run.h"
#include "explore/run_schema.h"
#include "explore/study.h"
#include "explore/trace.h"
#include "explore/trace_intents.h"
#include "explore/validate.h"
#include "model/common/errors.h"

namespace {

using kvplane::explore::RunOptions;

constexpr int kUserMistake = 2;
constexpr int kBroken = 3;

/// Runs `command`, sees its output off, and turns what it throws into a line on stderr and an exit
/// code.
template <class Command>
int guarded(Command command) {
    try {
        const int code = command();
        kvplane::explore::finish(std::cout);
        return code;
    } catch (const kvplane::UserError& error) {
        std::cerr << "kvplane: " << error.what() << "\n";
        return kUserMistake;
    } catch (const std::exception& error) {
        std::cerr << "kvplane: broken invariant: " << error.what() << "\n";
        return kBroken;
    }
}

void add_config(CLI::App& command, RunOptions& options) {
    command.add_option("config", options.config, "Config file")->required();
    command.add_option("--set", options.sets, "Overrides a key: path=value")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false);
}

void add_run(CLI::App& app, RunOptions& options, int& exit_code) {
    CLI::App* command = app.add_subcommand("run", "Replay a workload through a card");
    add_config(*command, options);
    command->add_option("--out", options.out, "Folder of the result [out/<config>-<hash>]");
    command->add_flag("--json", options.json, "Print the result as one JSON object");
    command
        ->add_option("--intents", options.intents,
                     "Every intent, event and completion; `trace intents` prints them")
        ->type_name("FILE");
    command->add_flag("--check", options.check,
                      "Check every invariant at every step: read sets, write-once, and the card's "
                      "room, reads, versions, commits and completions");
    command
        ->add_option("--events", options.events,
                     "Trace of the card's resources (Chrome JSON, for Perfetto) of the whole run "
                     "or of a window of simulated time; it ends after a million spans, 150 MB")
        ->type_name("FILE[:from,to]");
    command->add_option("--waves", options.waves, "Waveforms of the RTL engine (FST)")
        ->type_name("FILE[:from,to]");
    command->callback([&] { exit_code = guarded([&] { return kvplane::explore::run(options); }); });
}

void add_place(CLI::App& app, RunOptions& options, int& exit_code) {
    CLI::App* command =
        app.add_subcommand("place", "Compare placement policies and bounds, without timing");
    add_config(*command, options);
    command->add_flag("--json", options.json, "Print one JSON object");
    command->callback([&] {
        exit_code = guarded([&] {
            return kvplane::explore::place(
                {.config = options.config, .sets = options.sets, .json = options.json}, std::cout);
        });
    });
}

struct TraceArguments {
    std::string path;
    std::string format = "auto";
    std::string out;
    std::vector<std::uint32_t> block_tokens;
    std::vector<std::string> sets;
    bool json = false;

    [[nodiscard]] kvplane::explore::TraceSource source() const {
        return {.path = path,
                .format = kvplane::workload::parse_format(format),
                .options = kvplane::explore::trace_options(sets)};
    }
};

void add_source(CLI::App& command, TraceArguments& trace) {
    command.add_option("trace", trace.path, "Trace file")->required();
    command.add_option("--format", trace.format, "auto, mooncake, qwen, azure or kvplane [auto]");
    command.add_option("--set", trace.sets, "How to read it: seed, workload.time_backwards, ...")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false);
}

void add_trace_info(CLI::App& app, TraceArguments& trace, int& exit_code) {
    CLI::App* info = app.add_subcommand("info", "What a trace holds");
    add_source(*info, trace);
    info->add_option("--block-tokens", trace.block_tokens,
                     "Count in blocks of so many tokens [the trace's own, and 16 where they fit]");
    info->add_flag("--json", trace.json, "Print one JSON object");
    info->callback([&] {
        exit_code = guarded([&] {
            kvplane::explore::print_trace_info(trace.source(), trace.block_tokens, trace.json,
                                               std::cout);
            return 0;
        });
    });
}

void add_trace_intents(CLI::App& app, TraceArguments& trace, int& exit_code) {
    CLI::App* intents = app.add_subcommand(
        "intents", "Print the intents, events and completions that a file holds");
    intents->add_option("file", trace.path, "As of run --intents, or 64-byte descriptors alone")
        ->required();
    intents->add_flag("--json", trace.json, "Print one JSON object");
    intents->callback([&] {
        exit_code = guarded(
            [&] { return kvplane::explore::print_intents(trace.path, trace.json, std::cout); });
    });
}

/// `make` writes a trace to a stream; the command writes it to the file of --out.
template <class Make>
void write_trace(CLI::App& command, TraceArguments& trace, int& exit_code, Make make) {
    command.add_option("--out", trace.out, "File to write")->required();
    command.callback([&trace, &exit_code, make] {
        exit_code = guarded([&] {
            std::ostringstream text;
            make(text);
            kvplane::explore::write_file(trace.out, text.str());
            return 0;
        });
    });
}

void add_trace(CLI::App& app, RunOptions& options, TraceArguments& trace, int& exit_code) {
    using namespace kvplane::explore;
    CLI::App* command = app.add_subcommand("trace", "Look at traces, convert and generate them");
    command->require_subcommand(1);
    add_trace_info(*command, trace, exit_code);
    add_trace_intents(*command, trace, exit_code);
    CLI::App* convert = command->add_subcommand("convert", "Write a trace in kvplane's own format");
    add_source(*convert, trace);
    write_trace(*convert, trace, exit_code,
                [&trace](std::ostream& out) { convert_trace(trace.source(), out); });
    CLI::App* generate =
        command->add_subcommand("generate", "Write the workload that a config's generator draws");
    add_config(*generate, options);
    write_trace(*generate, trace, exit_code, [&options](std::ostream& out) {
        generate_trace(load(options.config, options.sets), out);
    });
}

void add_validate(CLI::App& app, kvplane::explore::ValidateOptions& options, int& exit_code) {
    CLI::App* command = app.add_subcommand("validate", "Hold the model against its references");
    command->add_option("--only", options.only, "One part of it")
        ->check(CLI::IsMember(kvplane::explore::validate_parts()));
    command->add_option("--cards", options.cards, "Folder of the cards' files [configs/cards]");
    command->add_option("--out", options.out, "Folder of validate.json and its plots (Vega-Lite)");
    command->add_flag("--json", options.json, "Print one JSON object");
    command->add_option("--set", options.sets, "Overrides a key of every card: path=value")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false);
    command->callback([&] {
        exit_code = guarded([&] { return kvplane::explore::validate(options, std::cout); });
    });
}

void add_config_show(CLI::App& app, RunOptions& options, int& exit_code) {
    using namespace kvplane::explore;
    CLI::App* show = app.add_subcommand("show", "Every key with value, origin and source");
    add_config(*show, options);
    show->add_flag("--json", options.json, "Print one JSON object");
    show->callback([&] {
        exit_code = guarded([&] {
            const LoadedConfig loaded = load(options.config, options.sets);
            if (options.json) {
                std::cout << settings_json(loaded.settings).dump() << "\n";
            } else {
                write_settings(std::cout, loaded.settings);
            }
            return 0;
        });
    });
}

void add_config_schema(CLI::App& app, RunOptions& options, int& exit_code) {
    using namespace kvplane::explore;
    CLI::App* schema = app.add_subcommand("schema", "Every key with unit, range and source");
    schema->add_flag("--json", options.json, "Print one JSON object");
    schema->callback([&] {
        exit_code = guarded([&] {
            RunConfig run;
            const Table table = run_table(run);
            if (options.json) {
                std::cout << schema_json(table).dump() << "\n";
            } else {
                write_schema(std::cout, table);
            }
            return 0;
        });
    });
}

void add_config_commands(CLI::App& app, RunOptions& options, int& exit_code) {
    CLI::App* config = app.add_subcommand("config", "Look at configs and their keys");
    config->require_subcommand(1);
    CLI::App* check = config->add_subcommand("check", "Say whether a config is sound");
    add_config(*check, options);
    check->callback([&] {
        exit_code = guarded([&] {
            static_cast<void>(kvplane::explore::load(options.config, options.sets));
            std::cout << options.config << ": sound\n";
            return 0;
        });
    });
    add_config_show(*config, options, exit_code);
    add_config_schema(*config, options, exit_code);
}

void add_study(CLI::App& app, kvplane::explore::StudyOptions& options, int& exit_code) {
    CLI::App* command = app.add_subcommand("study", "What a part of the card costs, over a grid");
    command->require_subcommand(1);
    for (const std::string& name : kvplane::explore::study_names()) {
        CLI::App* one = command->add_subcommand(name, "Axes: study." + name + " of the config");
        one->add_option("config", options.config, "Config file [the defaults]");
        one->add_option("--set", options.sets, "Overrides a key: path=value")
            ->type_name("PATH=VALUE")
            ->allow_extra_args(false);
        one->add_option("--out", options.out, "Folder of study.json and its plots (Vega-Lite)");
        if (name == "sram") {
            one->add_option("--synthesis", options.synthesis,
                            "What tb/synthesis/synthesise --json wrote: adds the engine's logic");
        }
        one->add_flag("--json", options.json, "Print one JSON object");
        one->callback([&, name] {
            exit_code = guarded([&] { return kvplane::explore::study(name, options, std::cout); });
        });
    }
}

/// What is wrong with a command line, in one line.
std::string mistake_in(const CLI::App& app, const CLI::ParseError& error) {
    const CLI::App* command = &app;
    while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
    std::vector<std::string> names;
    for (const CLI::App* below : command->get_subcommands({})) names.push_back(below->get_name());
    const std::vector<std::string> unknown = app.remaining(true);
    if (names.empty() || unknown.empty()) return error.what();
    const std::string near = kvplane::explore::nearest(unknown.front(), names);
    return fmt::format("there is no command '{}'; {}", unknown.front(),
                       near.empty() ? "the commands are " + kvplane::explore::join(names)
                                    : fmt::format("did you mean '{}'?", near));
}

}  // namespace

int main(int argc, char* argv[]) {
    // libsystemc prints its banner unless told not to, before it calls sc_main.
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
    return sc_core::sc_elab_and_sim(argc, argv);
}

int sc_main(int argc, char* argv[]) {
    CLI::App app{"kvplane: a CXL memory card that keeps an LLM fleet's KV cache"};
    app.require_subcommand(1);
    RunOptions options;
    int exit_code = 0;
    add_run(app, options, exit_code);
    add_place(app, options, exit_code);
    TraceArguments trace;
    add_trace(app, options, trace, exit_code);
    add_config_commands(app, options, exit_code);
    kvplane::explore::ValidateOptions validate_options;
    add_validate(app, validate_options, exit_code);
    kvplane::explore::StudyOptions study_options;
    add_study(app, study_options, exit_code);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);  // --help
        std::cerr << "kvplane: " << mistake_in(app, error) << " (see kvplane --help)\n";
        return kUserMistake;
    }
    return exit_code;
}
