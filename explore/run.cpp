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
#include <utility>

#include "explore/config.h"
#include "explore/event_trace.h"
#include "explore/output.h"
#include "explore/platform.h"
#include "explore/result.h"
#include "model/common/errors.h"

namespace kvplane::explore {
namespace {

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

/// Makes the folder of the result.
std::string make_out(const RunOptions& options, const LoadedConfig& config) {
    const std::string stem = std::filesystem::path(options.config).stem().string();
    const std::string out =
        options.out.empty() ? fmt::format("out/{}-{}", stem, config.settings.hash()) : options.out;
    make_folder(out);
    return out;
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
    const std::string out = make_out(options, config);
    require_something_to_measure(config, workload);
    Platform platform(config.run, std::move(workload), options.check);
    if (!options.waves.empty()) platform.trace(options.waves);
    if (!options.intents.empty()) platform.keep_intents();
    const std::unique_ptr<EventTrace> events = trace_events(options, config, platform);
    run_to_the_end(platform);
    if (events) report_events(*events, options.events);

    const nlohmann::ordered_json result =
        make_result(config, platform, {seconds_since(start), peak_rss_mib()});
    std::ostringstream effective;
    config.settings.write_effective(effective);
    write_file(out + "/config.yaml", effective.str());
    write_file(out + "/result.json", result.dump(2) + "\n");
    if (!options.intents.empty()) write_file(options.intents, platform.kept_intents());
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
