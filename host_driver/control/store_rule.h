// SPDX-License-Identifier: Apache-2.0
/// Selective demotion: which blocks get a copy in the tier at all. When they get it (after the step
/// that made them, or when their frame is wanted) is ControlConfig::demotion.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host_driver/control/policy.h"
#include "host_driver/control/policy_state.h"
#include "host_driver/control/reuse.h"

namespace kvplane::control {

/// What decides.
enum class Selection {
    kAll,        ///< every block
    kThreshold,  ///< blocks with at least `references` references, as far as the counter knows
    kPredicted,  ///< blocks read again within the horizon with at least `probability_ppm`
    kIntent,     ///< blocks that an intent names
};

struct StoreSpec {
    Selection selection = Selection::kAll;
    std::uint32_t references = 2;  ///< kThreshold: from 1
    /// kThreshold: the counter. Full counts all blocks for ever, ghosts counts those referenced
    /// last, a sketch counts approximately and ages (TinyLFU, at most 15 references).
    StateSpec counter{Lifetime::kFull, {}};
    Time horizon = Time::from_s(120);  ///< kPredicted
    /// kPredicted, in millionths. The default is where a store and a fetch cost as much as
    /// recomputing: 2 / 5.2 fetches on the default node (EXPERIMENTS.md, recompute price).
    std::uint32_t probability_ppm = 385'000;
};

/// Throws std::invalid_argument with one sentence if the spec makes no sense.
void check(const StoreSpec& spec);

class StoreRule {
public:
    /// Checks the spec.
    StoreRule(const StoreSpec& spec, std::size_t blocks);

    void on_access(const Access& access);
    /// An intent asks to keep the block, or withdraws.
    void set_intent(BlockIndex block, bool keep);
    /// Whether the block is worth a copy now.
    [[nodiscard]] bool stores(BlockIndex block, const Moment& now) const;
    /// What a host would spend on it: the counter, on blocks counted so far where it has no limit;
    /// the predictor; nothing for intents, which are the requests' own.
    [[nodiscard]] Bytes state_bytes() const;

private:
    void count(BlockIndex block);

    StoreSpec m_spec;
    std::uint64_t m_counted = 0;  ///< blocks that an unlimited counter knows
    std::vector<std::uint32_t> m_counts;
    std::optional<BlockLists> m_tracked;  ///< counter with a limit: least recently referenced first
    std::optional<FrequencySketch> m_sketch;
    std::optional<ReusePredictor> m_reuse;
    std::vector<bool> m_intent;
};

}  // namespace kvplane::control
