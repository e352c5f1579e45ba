// SPDX-License-Identifier: Apache-2.0
/// The data plane at its limits. References are arithmetic over slots, TLPs and stages: DMA writes
/// (MWr with a 64-bit address) and completions in 68 B flits, 128b/130b.
#include <fmt/format.h>

#include <array>

#include "explore/choices.h"
#include "explore/move_load.h"
#include "explore/validate.h"

namespace kvplane::explore {
namespace {

using driver::MoveKind;

constexpr Bytes kBlock = Bytes::from_mib(5);
constexpr Bytes kMedium = Bytes::from_kib(64);
constexpr Bytes kSmall = Bytes::from_kib(4);

/// References are rounded to four digits.
constexpr double kRounding = 0.001;
constexpr double kOnePercent = 0.01;

/// Payload of DMA writes on x8, GB/s, by MPS; x16 is twice that.
struct Push {
    std::uint32_t mps;
    double gb_s;
};
constexpr std::array kPush{Push{128, 24.97}, Push{256, 27.11}, Push{512, 28.33}};
constexpr double kPushBase = 27.11;        ///< MPS 256
constexpr double kPullAlone = 27.51;       ///< completions of 256 B on x8
constexpr double kPushBesidePull = 25.93;  ///< read requests take 4.7 % of its wire

/// One promotion at a time, us.
struct Alone {
    Bytes block;
    std::uint32_t width;
    std::uint32_t mps;
    driver::QueuePlace ring;
    engine::Fence fence;
    double us;
};
constexpr auto kHost = driver::QueuePlace::kHostMemory;
constexpr auto kHdm = driver::QueuePlace::kHdm;
constexpr auto kPortal = driver::QueuePlace::kPortal;
constexpr auto kFlag = engine::Fence::kInBandFlag;
constexpr auto kRead = engine::Fence::kReadFlush;
constexpr std::array kAlone{
    Alone{kBlock, 8, 256, kPortal, kFlag, 194.80}, Alone{kBlock, 8, 256, kHdm, kFlag, 194.86},
    Alone{kBlock, 8, 256, kHost, kFlag, 195.64},   Alone{kBlock, 8, 256, kHost, kRead, 196.38},
    Alone{kBlock, 8, 128, kHost, kRead, 212.96},   Alone{kBlock, 8, 512, kHost, kRead, 188.09},
    Alone{kBlock, 16, 256, kPortal, kFlag, 98.11}, Alone{kBlock, 16, 256, kHdm, kFlag, 98.17},
    Alone{kBlock, 16, 256, kHost, kFlag, 98.95},   Alone{kBlock, 16, 256, kHost, kRead, 99.69},
    Alone{kBlock, 16, 128, kHost, kRead, 107.98},  Alone{kBlock, 16, 512, kHost, kRead, 95.55},
    Alone{kMedium, 8, 256, kPortal, kFlag, 3.84},  Alone{kMedium, 8, 256, kHost, kRead, 5.42},
};

/// Copies of 5 MiB from the card by a copy engine, us: on their own and in a loop.
struct Copy {
    std::uint32_t width;
    std::uint64_t window;  ///< bytes in flight; 0: not bound
    double alone_us;       ///< 0: no reference
    double loop_us;
};
constexpr std::array kCopies{Copy{8, 0, 206.03, 202.27}, Copy{16, 0, 108.35, 104.59},
                             Copy{16, 43'500, 0, 120.59}, Copy{16, 32'768, 0, 159.05}};

/// Demand at half of x16 on its own, p99, us: 98.95 and the wait W of M/D/1 at a load of 1/2, where
/// P(W <= x D) = 1/2 sum over k <= x of e^-t t^k / k! with t = (k - x) / 2, and D = 96.70.
constexpr double kDemandP99 = 421.55;
/// What cannot be called back: 256 KiB of one destination at 54.22 GB/s, us.
constexpr double kUnderWay = 4.83;

RunConfig with_link(RunConfig config, std::uint32_t width, std::uint32_t mps = 256) {
    config.card.link.width = width;
    config.card.link.mps = {mps};
    return config;
}

MoveLoad closed(Bytes block, std::uint32_t depth, MoveKind kind = MoveKind::kPromote) {
    MoveLoad load;
    load.block = block;
    load.flows = {{.kind = kind, .depth = depth}};
    load.warm_up = 4 * depth;
    return load;
}

class Saturation {
public:
    explicit Saturation(const RunConfig& config) : m_config(config) {
        m_config.driver.mechanism = driver::Mechanism::kCard;
    }

    std::vector<ValidationRow> rows() {
        for (const std::uint32_t width : {8U, 16U}) {
            promotions(width);
            duplex(width);
        }
        for (const Alone& alone : kAlone) one_at_a_time(alone);
        for (const Copy& copy : kCopies) copies(copy);
        overload();
        return std::move(m_rows);
    }

private:
    void row(std::string id, const char* source, double low, double high, double model,
             double tolerance) {
        m_rows.push_back(
            {std::move(id), source, "arithmetic", low, high, model, tolerance, false, {}});
    }
    /// At least `share` of a wire that carries `gb_s`.
    void at_least(std::string id, double share, double gb_s, double model) {
        row(std::move(id), "payload of DMA writes in 68 B flits; GB/s", share * gb_s, gb_s, model,
            kRounding);
    }
    static double gb_s(const RunConfig& config, const MoveLoad& load, std::size_t flow = 0) {
        return measure_moves(config, load).flows[flow].payload.gb_s();
    }

    void promotions(std::uint32_t width) {
        const double lanes = width / 8.0;
        for (const Push& push : kPush) {
            const RunConfig config = with_link(m_config, width, push.mps);
            at_least(fmt::format("sat-5120KiB-depth4-x{}-mps{}", width, push.mps), 0.98,
                     lanes * push.gb_s, gb_s(config, closed(kBlock, 4)));
            at_least(fmt::format("sat-64KiB-depth8-x{}-mps{}", width, push.mps), 0.95,
                     lanes * push.gb_s, gb_s(config, closed(kMedium, 8)));
        }
        if (width != 8) return;
        MoveLoad small = closed(kSmall, 64);
        small.orders = 20'000;
        at_least("sat-4KiB-depth64-x8", 0.975, kPushBase, gb_s(with_link(m_config, 8), small));
    }

    void duplex(std::uint32_t width) {
        constexpr const char* kSource =
            "promotions beside pulled demotions, MRd 512 and CplD 256 in 68 B flits; GB/s";
        const double lanes = width / 8.0;
        const RunConfig config = with_link(m_config, width);
        row(fmt::format("sat-demotions-alone-x{}", width), kSource, lanes * kPullAlone,
            lanes * kPullAlone, gb_s(config, closed(kBlock, 4, MoveKind::kDemote)), kOnePercent);
        MoveLoad both = closed(kBlock, 8);
        both.flows.push_back({.kind = MoveKind::kDemote, .depth = 8});
        const MoveMeasure measure = measure_moves(config, both);
        row(fmt::format("sat-duplex-promotions-x{}", width), kSource, lanes * kPushBesidePull,
            lanes * kPushBesidePull, measure.flows[0].payload.gb_s(), kOnePercent);
        row(fmt::format("sat-duplex-demotions-x{}", width), kSource, lanes * kPullAlone,
            lanes * kPullAlone, measure.flows[1].payload.gb_s(), kOnePercent);
    }

    void one_at_a_time(const Alone& alone) {
        RunConfig config = with_link(m_config, alone.width, alone.mps);
        config.driver.queue = alone.ring;
        config.card.engine.fence = alone.fence;
        row(fmt::format("sat-{}KiB-depth1-x{}-mps{}-{}-{}", alone.block.count / 1024, alone.width,
                        alone.mps, queue_place_form().print(alone.ring),
                        fence_form().print(alone.fence)),
            "sum of the stages of one promotion; us", alone.us, alone.us,
            measure_moves(config, closed(alone.block, 1)).flows[0].latency.mean_us(), kOnePercent);
    }

    void copies(const Copy& copy) {
        constexpr const char* kSource =
            "launch + 133 ns + bytes / min(51.8 GB/s, CXL.mem reads, window / 973 ns); us";
        RunConfig config = with_link(m_config, copy.width);
        config.driver.mechanism = driver::Mechanism::kCopyEngine;
        if (copy.window != 0) config.driver.copy_engine.window = Bytes{copy.window};
        const std::string point = fmt::format(
            "x{}{}", copy.width, copy.window == 0 ? "" : fmt::format("-window{}", copy.window));
        if (copy.alone_us != 0) {
            row("sat-copy-depth1-" + point, kSource, copy.alone_us, copy.alone_us,
                measure_moves(config, closed(kBlock, 1)).flows[0].latency.mean_us(), kOnePercent);
        }
        const double each =
            static_cast<double>(kBlock.count) / 1e3 / gb_s(config, closed(kBlock, 4));
        row("sat-copy-loop-" + point, kSource, copy.loop_us, copy.loop_us, each, kOnePercent);
    }

    /// Demand takes half of the wire; prefetches ask for three times the rest.
    void overload() {
        const MoveFlow demand{.kind = MoveKind::kPromote, .depth = 0, .rate = share_of_x16(0.5)};
        MoveLoad load;
        load.block = kBlock;
        load.orders = 500;
        load.flows = {demand, {.kind = MoveKind::kPrefetch, .depth = 0, .rate = share_of_x16(1.5)}};
        at_least("sat-overload-2x-throughput-x16", 0.98, 2 * kPushBase,
                 measure_moves(m_config, load).promoted.gb_s());
        load.orders = 100'000;
        for (const std::uint32_t backlog : {0U, 16U, 1'000U}) {
            load.flows.resize(1);
            if (backlog != 0) load.flows.push_back({.kind = MoveKind::kPrefetch, .depth = backlog});
            const double us = measure_moves(m_config, load).flows[0].latency.percentile(990).us();
            row(fmt::format("sat-overload-demand-p99-backlog{}-x16", backlog),
                "alone + M/D/1 wait among demand, p99; + what of a prefetch left the DRAM; us",
                kDemandP99, kDemandP99 + (backlog == 0 ? 0 : kUnderWay), us, 0.03);
        }
    }
    static Rate share_of_x16(double share) {
        return {static_cast<std::uint64_t>(share * 2 * kPushBase * 1e9)};
    }

    RunConfig m_config;
    std::vector<ValidationRow> m_rows;
};

}  // namespace

std::vector<ValidationRow> validate_saturation(const RunConfig& config) {
    return Saturation(config).rows();
}

}  // namespace kvplane::explore
