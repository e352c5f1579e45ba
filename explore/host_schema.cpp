// SPDX-License-Identifier: Apache-2.0
/// Keys of the host: node, serving, control plane, driver.
#include "explore/choices.h"
#include "explore/control_form.h"
#include "explore/run_schema.h"

namespace kvplane::explore {

using enum NumberClass;

void describe(Table& t, gpu::NodeConfig& c) {
    const Form<Rate> bandwidth = between<Rate>({1'000'000'000}, {10'000'000'000'000'000});
    t.key("name", c.name, text(), {kChosen, "free choice", "What reports call the node."});
    t.key("parameters", c.parameters,
          between<std::uint64_t>(1'000'000, 100'000'000'000'000, "parameters"),
          {kDerived, "Llama-3-70B architecture", "Parameters of the model (P)."});
    t.key("layers", c.layers, between<std::uint32_t>(1, 1024, "layers"),
          {kDerived, "Llama-3-70B architecture", "Layers of the model (L)."});
    t.key("hidden", c.hidden, between<std::uint32_t>(1, 1'048'576, "values"),
          {kDerived, "Llama-3-70B architecture", "Hidden size of the model (d)."});
    t.key("weights", c.weights, between<Bytes>(Bytes::from_mib(1), Bytes::from_gib(64 * 1024)),
          {kDerived, "70.55e9 parameters in BF16", "Bytes of weights that a step reads (W)."});
    t.key("compute", c.compute, between<ComputeRate>({1'000'000'000}, {1'000'000'000'000'000'000}),
          {kDerived, "8 x H100 x 989 TFLOP/s x 0.55, fit to published prefill throughput",
           "What prefill reaches (F x eta)."});
    t.key("weight_bandwidth", c.weight_bandwidth, bandwidth,
          {kDerived, "0.87 of 8 x 3.35 TB/s, fit to published decode step times",
           "HBM bandwidth on weights (BW_w)."});
    t.key("kv_bandwidth", c.kv_bandwidth, bandwidth,
          {kDerived, "0.90 of 8 x 3.35 TB/s: 43.7 ns a token measured on H100 (vLLM, 8B)",
           "HBM bandwidth on KV blocks in attention (BW_kv)."});
    t.key("fixed", c.fixed, between<Time>(Time::from_us(1), Time::from_s(10)),
          {kAssumed, "assumed for TP8; 4.2 ms fits 70B on TP4, 0.93 ms fits 8B",
           "A step's cost of its own."});
    t.key("kv_budget", c.kv_budget, between<Bytes>(Bytes::from_kib(4), Bytes::from_gib(64 * 1024)),
          {kDerived, "640 GB x 0.9 - 141 GB weights - 24 GB, rounded down",
           "HBM for KV blocks, over all GPUs of the node."});
}

void describe(Table& t, serving::ServingConfig& c) {
    t.group("batch", [&] {
        t.key("sequences", c.batch_sequences, between<std::uint32_t>(1, 65'536, "sequences"),
              {kChosen, "a trade of ITL and TTFT; vLLM's order of magnitude",
               "Sequences that run at once."});
        t.key("tokens_per_step", c.tokens_per_step, between<std::uint32_t>(1, 1'048'576, "tokens"),
              {kChosen, "a trade of ITL and TTFT; vLLM's order of magnitude",
               "Prompt and output tokens of one step."});
    });
    t.key("load_mode", c.load_mode,
          choice<serving::LoadMode>({{"async", serving::LoadMode::kAsync}}),
          {kChosen, "what vLLM does", "A request starts when its blocks have arrived."});
    t.key("transfer_order", c.transfer_order,
          choice<serving::TransferOrder>({{"block", serving::TransferOrder::kBlock}}),
          {kChosen, "what vLLM does", "Order of the blocks of one load."});
    t.key("decode_blocks", c.decode_blocks,
          choice<serving::DecodeBlocks>({{"anonymous", serving::DecodeBlocks::kAnonymous}}),
          {kChosen, "traces do not tell the keys of decoded blocks",
           "What becomes of blocks made while decoding; anonymous ones are freed."});
    t.key("reserve", c.reserve,
          choice<serving::Reserve>(
              {{"prompt", serving::Reserve::kPrompt}, {"full", serving::Reserve::kFull}}),
          {kChosen, "what vLLM does", "Frames that a request holds from its admission on."});
    t.key("watermark", c.watermark, between<Ratio>({0}, {500'000}),
          {kChosen, "what vLLM does: 1 %", "Share of the frames that admission leaves free."});
}

void describe(Table& t, control::ControlConfig& c) {
    t.key("replacement", c.replacement, policy_form(),
          {kChosen, "what vLLM does: LRU, tail first", "Which block leaves HBM."});
    t.key(
        "admission", c.admission, admission_form(),
        {kChosen, "baseline", "Which blocks are worth holding; none: replacement decides alone."});
    t.key("tier_eviction", c.tier_eviction, policy_form(),
          {kChosen, "baseline: LRU, leaf first", "Which copy leaves the tier."});
    t.key("prefetch", c.prefetch,
          choice<control::Prefetch>({{"schedule", control::Prefetch::kSchedule}}),
          {kChosen, "what vLLM does", "When the loads of a request are issued."});
    t.key("store", c.store, store_form(),
          {kChosen, "baseline", "Which blocks get a copy in the tier."});
}

namespace {

/// "4 KiB + 341 ns".
Form<gpu::SmallCopy> small_copy_form() {
    Form<gpu::SmallCopy> form;
    form.type = "cost by size";
    form.unit = "bytes + time";
    form.range = "64 B to 1 MiB + 0 s to 1 ms";
    form.examples = {"64 B + 0 s", "1 MiB + 1 ms"};
    form.parse = [range = form.range](const Value& value) {
        const std::string& text = scalar_text(value, "cost by size");
        const std::size_t plus = text.find(" + ");
        if (plus == std::string::npos) {
            throw std::invalid_argument("'" + text + "' is not a size + a time; use " + range);
        }
        const gpu::SmallCopy copy{parse_bytes(std::string_view(text).substr(0, plus)),
                                  parse_time(std::string_view(text).substr(plus + 3))};
        if (copy.size < Bytes{64} || copy.size > Bytes::from_mib(1) ||
            copy.extra > Time::from_ms(1)) {
            throw std::invalid_argument("'" + text + "' is out of range; use " + range);
        }
        return copy;
    };
    form.print = [](const gpu::SmallCopy& copy) {
        return to_string(copy.size) + " + " + to_string(copy.extra);
    };
    return form;
}

void describe_copy_engine(Table& t, gpu::CopyEngineConfig& c) {
    const Form<Time> latency = between<Time>({1}, Time::from_ms(1));
    const Form<Rate> bandwidth = between<Rate>({1'000'000}, {1'000'000'000'000});
    t.key("launch_latency", c.launch_latency, latency,
          {kMeasured, "cudaMemcpyAsync, 5 to 7 us a small copy (DualPath, arXiv 2602.21548)",
           "From call to first byte while the engine is idle."});
    t.key("issue_interval", c.issue_interval, latency,
          {kMeasured, "H100, pinned copies in a loop, fit of 64 KiB to 16 MiB (vLLM blog 2026-01)",
           "The same for the next copy of a loop."});
    t.key("small_copies", c.small_copies, small_copy_form(),
          {kMeasured, "H100, floor of 4 and of 32 KiB less the same fit (vLLM blog 2026-01)",
           "What copies of a loop take beyond issue_interval: sizes, rising, with straight lines "
           "between them and nothing above."});
    t.key("bandwidth", c.bandwidth, bandwidth,
          {kMeasured, "H100, pinned copies in a loop, fit of 64 KiB to 16 MiB (vLLM blog 2026-01)",
           "Host to device."});
    t.key("bandwidth_d2h", c.bandwidth_d2h, bandwidth,
          {kMeasured, "H100, pinned copies in a loop, fit of 64 KiB to 16 MiB (vLLM blog 2026-01)",
           "Device to host."});
    t.key("window", c.window, between<Bytes>({64}, Bytes::from_mib(64)),
          {kAssumed, "not known; 32 to 128 KiB assumed where it is swept",
           "Bytes in flight; null: not bound."});
    t.key("card_latency", c.card_latency, latency,
          {kDerived, "measured CXL minus local DRAM read latency; 110 to 360 ns over devices",
           "The card's read latency over host DRAM's."});
    t.key("round_trip", c.round_trip, latency,
          {kDerived, "840 ns to host memory + card_latency", "Of one read in flight."});
}

}  // namespace

void describe(Table& t, driver::DriverConfig& c) {
    t.key("mechanism", c.mechanism, mechanism_form(),
          {kChosen, "baseline", "Who orders and who moves a block."});
    t.key("queue", c.queue, queue_place_form(),
          {kChosen, "baseline",
           "Where the submission queue lies: host memory, the card's own, or nowhere, each "
           "descriptor being one posted write."});
    t.key("poll_interval", c.poll_interval, between<Time>(Time::from_ns(1), Time::from_s(1)),
          {kAssumed, "assumed", "Of the busy poll on completions; half of it is the mean wait."});
    t.key("submit", c.submit, between<Time>({1}, Time::from_ms(1)),
          {kMeasured, "posted 64 B write, 0.09 to 0.13 us (gdrcopy, V100 and P100)",
           "CPU time to build and post one descriptor."});
    t.key("ring_entries", c.ring_entries, power_of_two<std::uint32_t>(2, 65'536, "entries"),
          {kChosen, "design parameter; NVMe allows 65,536", "Of each queue."});
    t.group("copy_engine", [&] { describe_copy_engine(t, c.copy_engine); });
}

}  // namespace kvplane::explore
