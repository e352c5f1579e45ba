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
    t.key("requests_per_second", c.requests_per_second, between<double>(1e-3, 1e6, "requests/s"),
          {kDerived, "half of the Mooncake conversation trace: 12,031 / 3,537 s / 2",
           "Mean arrival rate of all turns, Poisson."});
}

constexpr const char* kAssumedSize = "assumed; sized against budgets of 64 to 256 GiB";

Form<std::uint32_t> token_form(std::uint32_t least = 1) {
    return between<std::uint32_t>(least, workload::kMostTokens, "tokens");
}

void describe_arrivals(Table& t, double& requests_per_second) {
    t.key("requests_per_second", requests_per_second, between<double>(1e-6, 1e6, "requests/s"),
          {kDerived, "half of the Mooncake conversation trace: 12,031 / 3,537 s / 2",
           "Mean arrival rate, Poisson."});
}

void describe_scan(Table& t, workload::ScanConfig& c) {
    t.key("requests", c.requests, between<std::uint32_t>(1, 100'000'000, "requests"),
          {kAssumed, kAssumedSize, "Requests in all."});
    t.key("hot_documents", c.hot_documents, between<std::uint32_t>(1, 1U << 22, "documents"),
          {kAssumed, kAssumedSize, "Documents that are read again and again."});
    t.key("scan_permille", c.scan_permille, between<std::uint32_t>(0, 1000, "of 1,000"),
          {kAssumed, kAssumedSize, "Requests that read a document of their own, once."});
    t.key("document_tokens", c.document_tokens, token_form(),
          {kAssumed, kAssumedSize, "Tokens of every prompt."});
    t.key("shared_prefix_tokens", c.shared_prefix_tokens, token_form(0),
          {kAssumed, kAssumedSize, "Tokens with which every prompt begins."});
    t.key("output_tokens", c.output_tokens, token_form(),
          {kAssumed, kAssumedSize, "Tokens of every answer."});
    describe_arrivals(t, c.requests_per_second);
}

void describe_loop(Table& t, workload::LoopConfig& c) {
    t.key("documents", c.documents, between<std::uint32_t>(1, 1U << 22, "documents"),
          {kAssumed, kAssumedSize, "Documents of a round."});
    t.key("rounds", c.rounds, between<std::uint32_t>(1, 1'000'000, "rounds"),
          {kAssumed, kAssumedSize, "Rounds over all documents."});
    t.key("document_tokens", c.document_tokens, token_form(),
          {kAssumed, kAssumedSize, "Tokens of every prompt."});
    t.key("shared_prefix_tokens", c.shared_prefix_tokens, token_form(0),
          {kAssumed, kAssumedSize, "Tokens with which every prompt begins."});
    t.key("output_tokens", c.output_tokens, token_form(),
          {kAssumed, kAssumedSize, "Tokens of every answer."});
    describe_arrivals(t, c.requests_per_second);
}

void describe_agents(Table& t, workload::AgentsConfig& c) {
    constexpr const char* kSetting = "second workload of the experiments: closed-loop agents";
    t.key(
        "population", c.population, between<std::uint32_t>(1, 100'000, "agents"),
        {kAssumed, "assumed; tuned to 1.7 requests/s with the other defaults", "Agents at work."});
    t.key("requests", c.requests, between<std::uint32_t>(1, 100'000'000, "requests"),
          {kChosen, "an hour at 1.7 requests/s", "Requests of all agents together."});
    t.key("initial_tokens", c.initial_tokens, token_form(),
          {kChosen, kSetting, "Tokens of an agent's first prompt."});
    t.key("shared_prefix_tokens", c.shared_prefix_tokens, token_form(0),
          {kChosen, kSetting, "Of these, tokens that all agents share."});
    t.key("appended_tokens", c.appended_tokens, token_form(2),
          {kChosen, kSetting, "Tokens by which a prompt grows from turn to turn."});
    t.key("output_tokens", c.output_tokens, token_form(),
          {kChosen, kSetting, "Tokens of every answer."});
    t.key("max_context", c.max_context, token_form(),
          {kDerived, "context of the models of 2024", "Longest prompt; then a new session."});
    t.key("pause_median", c.pause_median, between<Time>({0}, Time::from_s(86'400)),
          {kChosen, kSetting, "Median time that a tool takes, lognormal."});
    t.key("pause_sigma", c.pause_sigma, between<double>(0, 4),
          {kChosen, kSetting, "Spread of the time that a tool takes."});
    t.key("estimated_start", c.estimated_start, between<Time>({0}, Time::from_s(60)),
          {kAssumed, "assumed", "Of the estimate of service: a cost of every request."});
    t.key("estimated_prefill_rate", c.estimated_prefill_rate,
          between<std::uint32_t>(1, UINT32_MAX, "tokens/s"),
          {kDerived, "prefill of the default node at a prompt of 12,000 tokens",
           "Of the estimate of service: new prompt tokens a second."});
    t.key("estimated_token_time", c.estimated_token_time, between<Time>({0}, Time::from_s(60)),
          {kAssumed, "assumed; a decode step of about 40 sequences",
           "Of the estimate of service: time of an output token."});
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

void describe_backwards(Table& t, WorkloadConfig& c) {
    t.key("time_backwards", c.time_backwards,
          choice<workload::Backwards>(
              {{"error", workload::Backwards::kError}, {"sort", workload::Backwards::kSort}}),
          {kChosen, "free choice", "What to do where time goes backwards in a trace."});
}

}  // namespace

void describe_reading(Table& t, WorkloadConfig& c) {
    describe_backwards(t, c);
    t.group("azure", [&] { describe_azure(t, c.azure); });
}

void describe(Table& t, WorkloadConfig& c) {
    std::vector<std::pair<std::string, workload::Generator>> generators;
    for (const auto generator : {workload::Generator::kZipfSessions, workload::Generator::kScan,
                                 workload::Generator::kLoop, workload::Generator::kAgents}) {
        generators.emplace_back(workload::name_of(generator), generator);
    }
    t.key("generator", c.generated.generator, choice<workload::Generator>(generators),
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
    describe_backwards(t, c);
    t.key("buckets", c.buckets, between<std::uint32_t>(2, workload::kBuckets, "of 16 buckets"),
          {kChosen, "all; 8 of 16 of the Mooncake conversation trace load the default node stably",
           "Session buckets of the workload that are replayed."});
    t.key("bucket_offset", c.bucket_offset,
          between<std::uint32_t>(0, workload::kBuckets - 1, "buckets"),
          {kChosen, "free choice", "The first bucket that is replayed; after 15 comes 0."});
    t.key("sharing", c.sharing,
          choice<workload::Sharing>(
              {{"tenant", workload::Sharing::kTenant}, {"all", workload::Sharing::kAll}}),
          {kChosen, "what is not shared on purpose is private",
           "Whose prompts that begin alike have blocks in common: one tenant's, or everybody's."});
    t.key("warm_up", c.warm_up, between<Time>({0}, Time::from_s(1'000'000)),
          {kChosen, "free choice", "Requests that arrive earlier are served but not counted."});
    t.group("zipf_sessions", [&] { describe_zipf_sessions(t, c.generated.zipf_sessions); });
    t.group("scan", [&] { describe_scan(t, c.generated.scan); });
    t.group("loop", [&] { describe_loop(t, c.generated.loop); });
    t.group("agents", [&] { describe_agents(t, c.generated.agents); });
    t.group("azure", [&] { describe_azure(t, c.azure); });
}

}  // namespace kvplane::explore
