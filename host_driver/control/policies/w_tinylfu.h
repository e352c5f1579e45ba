// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "host_driver/control/policies/segments.h"
#include "host_driver/control/policy.h"

namespace kvplane::control {

/// W-TinyLFU: blocks come into an LRU window, a hundredth of the capacity. The oldest of a full
/// window contends with the next victim of the main part, a segmented LRU. The candidate leaves
/// unless it has more references; if it has, it joins the main part, whose victim leaves in its
/// stead once the main part is full. A read set is pinned while it comes in, so the window may
/// outgrow its share, at the main part's cost, and gives it back by the same contest.
/// State: the counts, an ageing sketch of every reference (kSketch) or exact counts of references
/// for as long as they live.
class WTinyLfu final : public Policy {
public:
    WTinyLfu(std::uint64_t capacity, std::size_t blocks, const StateSpec& state);

    void on_insert(BlockIndex block, const Moment& now) override;
    void on_access(const Access& access) override;
    void on_remove(BlockIndex block) override;
    void set_eligible(BlockIndex block, bool eligible) override {
        m_segments.set_eligible(block, eligible);
    }
    [[nodiscard]] BlockIndex victim(const Moment& now) override;
    [[nodiscard]] Bytes state_bytes() const override;

private:
    [[nodiscard]] std::uint64_t count(BlockIndex block) const;

    std::uint64_t m_window_limit;
    std::uint64_t m_main_limit;
    std::uint64_t m_protected_limit;
    Segments m_segments;
    std::optional<FrequencySketch> m_sketch;
    History m_history;
    std::vector<std::uint32_t> m_counts;  ///< of resident blocks, where there is no sketch
};

}  // namespace kvplane::control
