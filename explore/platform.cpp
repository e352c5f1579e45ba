// SPDX-License-Identifier: Apache-2.0
#include "explore/platform.h"

#include <fmt/format.h>

#include "host_driver/driver/card_driver.h"
#include "host_driver/driver/host_issued.h"
#include "host_driver/workload/assemble.h"
#include "host_driver/workload/trace.h"
#include "model/common/errors.h"
#include "model/index/tlm_index.h"
#include "tb/plugin/lockstep_engine.h"
#include "tb/plugin/rtl_engine.h"

namespace kvplane::explore {
namespace {

std::uint64_t frames_of(const RunConfig& config) {
    return config.node.kv_budget / config.block.bytes();
}

}  // namespace

std::unique_ptr<index::TlmIndex> make_index(const index::IndexConfig& config) {
    switch (config.implementation) {
        case index::Implementation::kTlm:
            return std::make_unique<index::TlmIndex>(config);
        case index::Implementation::kRtl:
            return std::make_unique<index::TlmIndex>(config,
                                                     std::make_unique<rtl::RtlEngine>(config));
        case index::Implementation::kLockstep:
            return std::make_unique<index::TlmIndex>(config,
                                                     std::make_unique<rtl::LockstepEngine>(config));
    }
    throw InvariantError("unknown implementation of the index");
}

card::CardConfig card_of(const RunConfig& config) {
    card::CardConfig card = config.card;
    if (config.driver.queue == driver::QueuePlace::kHdm) {
        card.ring_memory = driver::CardDriver::ring_memory(config.driver);
    }
    return card;
}

std::unique_ptr<driver::Driver> make_driver(const RunConfig& config, std::uint32_t blocks,
                                            card::Type3Card& card, gpu::HbmPool& hbm,
                                            driver::MoveMetrics& moves) {
    switch (config.driver.mechanism) {
        case driver::Mechanism::kCard: {
            auto made = std::make_unique<driver::CardDriver>("driver", config.driver, hbm, moves);
            made->mmio.bind(card.mmio);
            card.dma.bind(*made);
            card.data_plane().observe(*made);
            if (config.driver.queue == driver::QueuePlace::kHdm) {
                card.map_whole();
                made->mem.bind(card.mem.socket);
            }
            return made;
        }
        case driver::Mechanism::kCopyEngine: {
            auto made = std::make_unique<driver::HostIssuedDriver>(
                config.driver, config.card.tier_capacity, blocks, hbm, moves);
            made->copy_engine.mem.bind(card.bulk);
            return made;
        }
    }
    throw InvariantError("unknown mechanism");
}

workload::Workload load_workload(const RunConfig& config) {
    workload::AssembleOptions options{
        .tokens_per_block = config.block.tokens,
        .buckets = config.workload.buckets,
        .bucket_offset = config.workload.bucket_offset,
        .backwards = config.workload.time_backwards,
        .slice = {.last_layer = static_cast<std::uint16_t>(config.block.layers - 1)},
        .sharing = config.workload.sharing};
    if (config.workload.trace) {
        return workload::read_trace(
            config.workload.trace->expanded(), config.workload.format,
            {.assemble = options, .azure = config.workload.azure, .seed = config.seed});
    }
    return workload::assemble(
        workload::generate(config.workload.generated, config.seed, config.block.tokens), options);
}

Platform::Platform(const RunConfig& config, workload::Workload workload, bool check)
    : m_config(config),
      m_workload(std::move(workload)),
      m_ledger(static_cast<std::uint32_t>(m_workload.blocks.size()),
               check ? block::OnBreach::kThrow : block::OnBreach::kCount),
      m_hbm(frames_of(config), config.block.bytes(), config.card.payload == card::Payload::kBytes),
      m_step_time(config.node, config.block.bytes_per_token()),
      m_index(make_index(config.card.index)),
      m_card(std::make_unique<card::Type3Card>("card", card_of(config), config.block.bytes(),
                                               *m_index)) {
    m_driver = make_driver(m_config, static_cast<std::uint32_t>(m_workload.blocks.size()), *m_card,
                           m_hbm, m_moves);
    m_engine = std::make_unique<serving::Engine>("engine", config.serving, m_workload, m_step_time,
                                                 m_hbm.frames(), config.workload.warm_up, m_ledger);
    m_control = std::make_unique<control::ControlPlane>(
        config.control, m_workload,
        m_card->data_plane().tier().room().capacity() / engine::granules(m_hbm.block()), m_hbm,
        m_ledger, *m_driver, *m_engine);
    m_engine->bind(*m_control);
    m_engine->listen(static_cast<serving::WarmUpListener&>(*this));
    if (check) check_every_step();
}

Platform::~Platform() = default;

void Platform::check_every_step() {
    m_engine->check_every_step();
    engine::DataPlane& plane = m_card->data_plane();
    m_checker = std::make_unique<engine::InvariantChecker>(m_config.card.tier_capacity);
    plane.tier().observe(*m_checker);
    plane.observe(static_cast<engine::JobObserver&>(*m_checker));
}

void Platform::warmed_up() {
    m_warm_up = {m_ledger.counts(), m_moves.promoted_bytes(), m_moves.demoted_bytes()};
    m_control->restart_counts();
    m_moves.restart();
}

void Platform::trace(const std::string& waves) {
    const rtl::WavesOption option = rtl::WavesOption::parse(waves);
    index::TableEngine& engine = m_index->engine();
    if (auto* alone = dynamic_cast<rtl::RtlEngine*>(&engine)) {
        alone->trace(option);
    } else if (auto* both = dynamic_cast<rtl::LockstepEngine*>(&engine)) {
        both->rtl().trace(option);
    } else {
        throw UserError("--waves needs card.index.implementation: rtl or lockstep");
    }
}

void Platform::observe(driver::QueueObserver& observer) {
    auto* card_driver = dynamic_cast<driver::CardDriver*>(m_driver.get());
    if (card_driver == nullptr) throw UserError("--intents needs driver.mechanism: card");
    card_driver->observe(observer);
}

void Platform::run() {
    sc_core::sc_start();
    if (sc_core::sc_pending_activity()) return;
    if (m_engine->unfinished() != 0) {
        throw InvariantError(fmt::format("the run stands still at {} with {} requests unfinished",
                                         to_string(now()), m_engine->unfinished()));
    }
    if (m_control->runs_under_way() != 0) {
        throw InvariantError(fmt::format("the run ends at {} with {} runs of moves unfinished",
                                         to_string(now()), m_control->runs_under_way()));
    }
    m_index->engine().finish();
    m_control->audit();
    m_card->data_plane().audit();
    if (m_checker) m_checker->audit(m_card->data_plane().tier());
    check_conservation();
}

void Platform::check_conservation() const {
    const block::LedgerCounts& counts = m_ledger.counts();
    const Bytes promoted = m_hbm.block() * (m_warm_up.counts.promotions + counts.promotions);
    const engine::DataPlane& plane = m_card->data_plane();
    const Bytes demoted = m_hbm.block() * (m_warm_up.counts.demotions + counts.demotions +
                                           plane.counters().unkept_blocks);
    if (promoted != m_hbm.written() || promoted != m_warm_up.promoted + m_moves.promoted_bytes() ||
        demoted != m_hbm.read() || demoted != m_warm_up.demoted + m_moves.demoted_bytes()) {
        throw InvariantError(fmt::format(
            "bytes are lost: promoted {} B, written to HBM {}, measured {}; demoted {}, read from "
            "HBM {}, measured {}",
            promoted.count, m_hbm.written().count, m_moves.promoted_bytes().count, demoted.count,
            m_hbm.read().count, m_moves.demoted_bytes().count));
    }
    const std::uint64_t named = plane.tier().blocks();
    if (m_config.driver.mechanism == driver::Mechanism::kCard && named != m_control->tier_used()) {
        throw InvariantError(fmt::format("blocks are lost: {} in the tier, {} in the directory",
                                         named, m_control->tier_used()));
    }
    Int128 stages = 0;
    for (std::size_t i = 0; i < engine::kStages; ++i) {
        stages += m_moves.stage_sum_ps(static_cast<engine::Stage>(i));
    }
    if (stages != m_moves.promotion().sum_ps()) {
        throw InvariantError("the stages of promotions do not sum to their latencies");
    }
}

}  // namespace kvplane::explore
