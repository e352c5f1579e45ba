// SPDX-License-Identifier: Apache-2.0
#include "explore/run.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "explore/config.h"
#include "explore/event_trace.h"
#include "explore/intent_log.h"
#include "explore/output.h"
#include "explore/platform.h"
#include "explore/result.h"
#include "model/common/errors.h"
#include "tb/plugin/waves.h"

namespace kvplane::explore {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A line on stderr that says how far the run is.
class TerminalProgress final : public serving::ProgressListener {
public:
    void progress(std::uint64_t finished, std::uint64_t total, Time simulated) override {
        if (seconds_since(m_printed) < kEvery && finished != total) return;
        m_printed = Clock::now();
        const double elapsed = seconds_since(m_start);
        const double left =
            elapsed * static_cast<double>(total - finished) / static_cast<double>(finished);
        m_line.show(fmt::format("{} of {} requests, {:.0f} s simulated, {:.0f} s left", finished,
                                total, simulated.s(), left));
    }

private:
    static constexpr double kEvery = 0.5;  ///< seconds
    ProgressLine m_line{&std::cerr};
    Clock::time_point m_start = Clock::now();
    Clock::time_point m_printed = m_start;
};

std::uint64_t peak_rss_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) / 1024;
}

std::string out_of(const RunOptions& options, const LoadedConfig& config) {
    const std::string stem = std::filesystem::path(options.config).stem().string();
    return options.out.empty() ? fmt::format("out/{}-{}", stem, config.settings.hash())
                               : options.out;
}

/// The folder of the result. What of it was not there before goes again unless it is kept.
class ResultFolder {
public:
    explicit ResultFolder(const std::string& path) {
        std::error_code ignored;  // what cannot be looked at cannot be made
        for (fs::path at = fs::absolute(path, ignored).lexically_normal();
             at.has_relative_path() && !fs::exists(at, ignored); at = at.parent_path()) {
            m_made.push_back(at);
        }
        make_folder(path);
    }
    ~ResultFolder() {
        std::error_code ignored;  // somebody has put something there
        for (const fs::path& made : m_made) fs::remove(made, ignored);
    }
    ResultFolder(const ResultFolder&) = delete;
    ResultFolder& operator=(const ResultFolder&) = delete;
    void keep() { m_made.clear(); }

private:
    std::vector<fs::path> m_made;  ///< innermost first
};

/// A file that a run reads or writes, and what names it.
struct NamedFile {
    std::string name;
    std::string path;
};

bool is_same_file(const std::string& a, const std::string& b) {
    std::error_code ignored;  // what is not there is compared by its name
    if (fs::exists(a, ignored) && fs::exists(b, ignored)) return fs::equivalent(a, b, ignored);
    const auto whole = [&](const std::string& path) {
        return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
    };
    return whole(a) == whole(b);
}

void refuse_same_file(const NamedFile& output, const std::vector<NamedFile>& others) {
    for (const NamedFile& other : others) {
        if (!is_same_file(output.path, other.path)) continue;
        throw UserError(fmt::format("{} is the file of {} too", output.name, other.name));
    }
}

/// No output may take the place of another, or of what the run reads.
void refuse_same_files(const RunOptions& options, const LoadedConfig& config,
                       const std::string& out) {
    std::vector<NamedFile> files;
    for (const std::string& file : config.settings.files()) {
        files.push_back({"the config " + file, file});
    }
    if (config.run.workload.trace) {
        files.push_back({"workload.trace", config.run.workload.trace->expanded()});
    }
    for (const char* result : {"config.yaml", "result.json"}) {
        const NamedFile own{fmt::format("{} of --out", result), fmt::format("{}/{}", out, result)};
        refuse_same_file(own, files);
        files.push_back(own);
    }
    for (const auto& [name, path] :
         {NamedFile{"--intents", options.intents},
          NamedFile{"--events", rtl::WavesOption::parse(options.events, "--events").file},
          NamedFile{"--waves", rtl::WavesOption::parse(options.waves).file}}) {
        std::error_code ignored;  // taken as one that is not there
        const fs::file_status status = fs::status(path, ignored);
        if (path.empty() || (fs::exists(status) && !fs::is_regular_file(status))) continue;
        refuse_same_file({fmt::format("{} {}", name, path), path}, files);
        files.push_back({name, path});
    }
}

void require_something_to_measure(const LoadedConfig& config, const workload::Workload& workload) {
    const Time last = workload.requests.back().arrival;
    config.settings.require(
        config.run.workload.warm_up <= last, {"workload.warm_up"},
        fmt::format("ends after the last request's arrival at {}", to_string(last)));
}

void report_infeasible(const Platform& platform) {
    const auto& infeasible = platform.engine().infeasible();
    if (infeasible.empty()) return;
    const workload::Request& first = platform.workload().requests[infeasible.front()];
    fmt::print(stderr,
               "{} of {} requests are infeasible and were not served; the first needs {} tokens "
               "with its output, the HBM budget holds {}\n",
               infeasible.size(), platform.workload().requests.size(),
               first.input_tokens + first.output_tokens,
               platform.hbm().frames() * platform.workload().tokens_per_block);
}

/// nullptr where nobody asked for it.
std::unique_ptr<EventTrace> trace_events(const RunOptions& options, const LoadedConfig& config,
                                         Platform& platform) {
    if (options.events.empty()) return nullptr;
    config.settings.require(config.run.driver.mechanism == driver::Mechanism::kCard,
                            {"driver.mechanism"}, "--events is of intents to the card");
    auto events = std::make_unique<EventTrace>(options.events, config.run);
    platform.observe(*events);
    return events;
}

void report_events(EventTrace& events, const std::string& option) {
    events.finish();
    if (events.left_out() == 0) return;
    fmt::print(stderr, "--events {}: ends after {} spans; {} more were left out\n", option,
               EventTrace::kMostSpans, events.left_out());
}

/// nullptr where nobody asked for it.
std::unique_ptr<IntentLog> log_intents(const RunOptions& options, Platform& platform) {
    if (options.intents.empty()) return nullptr;
    auto intents = std::make_unique<IntentLog>(options.intents);
    platform.observe(static_cast<driver::QueueObserver&>(*intents));
    platform.observe(static_cast<engine::JobObserver&>(*intents));
    return intents;
}

void run_to_the_end(Platform& platform) {
    TerminalProgress progress;
    if (isatty(STDERR_FILENO) != 0) platform.engine().listen(progress);
    platform.run();
}

}  // namespace

int run(const RunOptions& options) {
    const Clock::time_point start = Clock::now();
    const LoadedConfig config = load(options.config, options.sets);
    workload::Workload workload = load_workload(config.run);
    require_something_to_measure(config, workload);
    const std::string out = out_of(options, config);
    refuse_same_files(options, config, out);
    ResultFolder folder(out);
    Platform platform(config.run, std::move(workload), options.check);
    if (!options.waves.empty()) platform.trace(options.waves);
    const std::unique_ptr<IntentLog> intents = log_intents(options, platform);
    const std::unique_ptr<EventTrace> events = trace_events(options, config, platform);
    run_to_the_end(platform);
    if (intents) intents->check();
    if (events) report_events(*events, options.events);
    if (intents) intents->finish();

    const nlohmann::ordered_json result =
        make_result(config, platform, {seconds_since(start), peak_rss_mib()});
    std::ostringstream effective;
    config.settings.write_effective(effective);
    folder.keep();
    write_file(out + "/config.yaml", effective.str());
    write_file(out + "/result.json", result.dump(2) + "\n");
    report_infeasible(platform);
    if (options.json) {
        std::cout << flat_rows(result).dump() << "\n";
    } else {
        print_summary(std::cout, result);
        std::cout << "result      " << out << "/result.json\n";
    }
    return result["meta"]["valid"].get<bool>() ? 0 : 1;
}

}  // namespace kvplane::explore
