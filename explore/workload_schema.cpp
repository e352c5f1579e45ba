// SPDX-License-Identifier: Apache-2.0
/// Keys of the workload.
#include "explore/run_schema.h"

namespace kvplane::explore {

using enum NumberClass;

namespace {

constexpr const char* kPublished = "published study of zipf sessions: 200 sessions, 2,500 turns";

void describe_zipf_sessions(Table& t, workload::ZipfSessionsConfig& c) {
    const Form<std::uint32_t> tokens = between<std::uint32_t>(1, workload::kMostTokens, "tokens");
    const Form<std::uint32_t> growth = between<std::uint32_t>(2, workload::kMostTokens, "tokens");
    t.key("sessions", c.sessions, between<std::uint32_t>(1, 1U << 22, "sessions"),
          {kChosen, kPublished, "Sessions alive at a time."});
    t.key("turns", c.turns, between<std::uint32_t>(1, 100'000'000, "turns"),
          {kChosen, kPublished, "Turns of all sessions together: the requests."});
    t.key("zipf_exponent", c.zipf_exponent, between<double>(0, 8),
          {kChosen, kPublished, "Session of rank r gets a share like r^-exponent of the turns."});
    t.key("shared_prefix_tokens", c.shared_prefix_tokens,
          between<std::uint32_t>(0, workload::kMostTokens, "tokens"),
          {kChosen, kPublished, "Tokens with which every prompt begins."});
    t.key("initial_context_min", c.initial_context_min, tokens,
          {kChosen, kPublished, "Least tokens after the shared prefix in a first prompt."});
    t.key("initial_context_max", c.initial_context_max, tokens,
          {kChosen, kPublished, "Most tokens after the shared prefix in a first prompt."});
    t.key("appended_min", c.appended_min, growth,
          {kChosen, kPublished, "Least tokens by which a prompt grows from turn to turn."});
    t.key("appended_max", c.appended_max, growth,
          {kChosen, kPublished, "Most tokens by which a prompt grows from turn to turn."});
    t.key("output_min", c.output_min, tokens,
          {kAssumed, "assumed; the published study has no outputs", "Least tokens of an answer."});
    t.key("output_max", c.output_max, tokens,
          {kAssumed, "assumed; the published study has no outputs", "Most tokens of an answer."});
    t.key("max_context", c.max_context, tokens,
          {kAssumed, "assumed; leaves the published setting uncut",
           "Longest prompt; a session that would pass it ends."});
    t.key("requests_per_second", c.requests_per_second, between<double>(1e-6, 1e6, "requests/s"),
          {kDerived, "half of the Mooncake conversation trace: 12,031 / 3,537 s / 2",
           "Mean arrival rate of all turns, Poisson."});
}

void describe_azure(Table& t, workload::AzureConfig& c) {
    t.key("tokens_per_id", c.tokens_per_id,
          between<std::uint32_t>(1, workload::kMostTokens, "tokens"),
          {kAssumed, "assumed; the trace has lengths only", "Tokens that a drawn id stands for."});
    t.key("continue_permille", c.continue_permille, between<std::uint32_t>(0, 1000, "of 1,000"),
          {kAssumed, "assumed; the trace has lengths only",
           "Requests that continue a session where one fits."});
    t.key("longest_idle", c.longest_idle, between<Time>({0}, Time::from_s(1'000'000)),
          {kAssumed, "assumed; the trace has lengths only",
           "A session that has been idle for longer is not continued."});
}

}  // namespace

void describe(Table& t, WorkloadConfig& c) {
    t.key("generator", c.generator,
          choice<Generator>({{"zipf-sessions", Generator::kZipfSessions}}),
          {kChosen, "baseline", "Which generator makes the requests where no trace is given."});
    t.key("trace", c.trace, file_path(),
          {kChosen, "free choice", "A trace to replay; replaces the generator; null: none."});
    std::vector<std::pair<std::string, workload::TraceFormat>> formats;
    for (const auto format : {workload::TraceFormat::kAuto, workload::TraceFormat::kMooncake,
                              workload::TraceFormat::kQwen, workload::TraceFormat::kAzure,
                              workload::TraceFormat::kKvplane}) {
        formats.emplace_back(workload::name_of(format), format);
    }
    t.key("format", c.format, choice<workload::TraceFormat>(formats),
          {kChosen, "free choice", "Format of the trace; auto: by its first line."});
    t.key("time_backwards", c.time_backwards,
          choice<workload::Backwards>(
              {{"error", workload::Backwards::kError}, {"sort", workload::Backwards::kSort}}),
          {kChosen, "free choice", "What to do where time goes backwards in a trace."});
    t.key("buckets", c.buckets, between<std::uint32_t>(2, workload::kBuckets, "of 16 buckets"),
          {kChosen, "all; 8 of 16 of the Mooncake conversation trace load the default node stably",
           "Session buckets of the workload that are replayed."});
    t.key("bucket_offset", c.bucket_offset,
          between<std::uint32_t>(0, workload::kBuckets - 2, "buckets"),
          {kChosen, "free choice", "The first bucket that is replayed."});
    t.key("warm_up", c.warm_up, between<Time>({0}, Time::from_s(1'000'000)),
          {kChosen, "free choice", "Requests that arrive earlier are served but not counted."});
    t.group("zipf_sessions", [&] { describe_zipf_sessions(t, c.zipf_sessions); });
    t.group("azure", [&] { describe_azure(t, c.azure); });
}

}  // namespace kvplane::explore
