// SPDX-License-Identifier: Apache-2.0
/// A whole run, wired: workload, serving engine, control plane, driver, card. The one place that
/// chooses implementations.
#pragma once

#include <memory>
#include <string>

#include "explore/run_config.h"
#include "host_driver/control/control_plane.h"
#include "host_driver/driver/driver.h"
#include "host_driver/driver/move_metrics.h"
#include "host_driver/driver/queue_observer.h"
#include "host_driver/gpu/hbm_pool.h"
#include "host_driver/gpu/step_time.h"
#include "host_driver/serving/engine.h"
#include "host_driver/workload/request.h"
#include "model/block/ledger.h"
#include "model/card/type3_card.h"
#include "model/engine/invariant_checker.h"
#include "model/index/tlm_index.h"

namespace kvplane::explore {

/// The requests that `config` names. Throws UserError for what is wrong in a trace.
[[nodiscard]] workload::Workload load_workload(const RunConfig& config);

/// The index that `config` chooses: the TLM, the RTL, or both in lockstep.
[[nodiscard]] std::unique_ptr<index::TlmIndex> make_index(const index::IndexConfig& config);

/// The card of `config`, with memory for the rings that its driver keeps there.
[[nodiscard]] card::CardConfig card_of(const RunConfig& config);

/// The driver that `config` chooses, wired to `card`, which both run on: `blocks` distinct blocks
/// at most. All it is handed must outlive it.
[[nodiscard]] std::unique_ptr<driver::Driver> make_driver(const RunConfig& config,
                                                          std::uint32_t blocks,
                                                          card::Type3Card& card, gpu::HbmPool& hbm,
                                                          driver::MoveMetrics& moves);

class Platform final : private serving::WarmUpListener {
public:
    /// `check`: walk every read set, stop at the first breach of write-once, and keep the books of
    /// an InvariantChecker beside the card's.
    Platform(const RunConfig& config, workload::Workload workload, bool check);
    ~Platform() override;
    Platform(const Platform&) = delete;
    Platform& operator=(const Platform&) = delete;

    /// Writes waveforms of the engine, as `waves` (FILE[:from,to]) says; before run(). Throws
    /// UserError where the engine is not RTL.
    void trace(const std::string& waves);
    /// Hears the host's queue pairs; before run(). It must outlive this. Throws UserError where
    /// there are none.
    void observe(driver::QueueObserver& observer);
    /// Hears the card's intents; before run(). It must outlive this.
    void observe(engine::JobObserver& observer) { m_card->data_plane().observe(observer); }
    /// Simulates until nothing is left to do, then checks what must hold at the end. Returns early
    /// where somebody paused the simulation, who has to say why. Throws InvariantError.
    void run();

    [[nodiscard]] const workload::Workload& workload() const { return m_workload; }
    [[nodiscard]] const block::Ledger& ledger() const { return m_ledger; }
    [[nodiscard]] const gpu::HbmPool& hbm() const { return m_hbm; }
    [[nodiscard]] const driver::MoveMetrics& moves() const { return m_moves; }
    [[nodiscard]] const control::ControlPlane& control() const { return *m_control; }
    [[nodiscard]] serving::Engine& engine() { return *m_engine; }
    [[nodiscard]] const serving::Engine& engine() const { return *m_engine; }
    [[nodiscard]] const card::Type3Card& card() const { return *m_card; }
    /// The books of a checked run; nullptr where it is not checked.
    [[nodiscard]] const engine::InvariantChecker* checker() const { return m_checker.get(); }
    [[nodiscard]] const index::TlmIndex& index() const { return *m_index; }
    /// For faults.
    [[nodiscard]] index::TlmIndex& index() { return *m_index; }

private:
    void warmed_up() override;
    void check_every_step();
    void check_conservation() const;

    RunConfig m_config;
    workload::Workload m_workload;
    block::Ledger m_ledger;
    gpu::HbmPool m_hbm;
    gpu::StepTime m_step_time;
    driver::MoveMetrics m_moves;
    /// What the warm-up moved, of which the result says nothing.
    struct WarmUp {
        block::LedgerCounts counts;
        Bytes promoted;
        Bytes demoted;
    } m_warm_up;
    std::unique_ptr<index::TlmIndex> m_index;
    std::unique_ptr<card::Type3Card> m_card;
    std::unique_ptr<engine::InvariantChecker> m_checker;  ///< nullptr: nothing is checked
    std::unique_ptr<driver::Driver> m_driver;
    std::unique_ptr<serving::Engine> m_engine;
    std::unique_ptr<control::ControlPlane> m_control;
};

}  // namespace kvplane::explore
