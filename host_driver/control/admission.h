// SPDX-License-Identifier: Apache-2.0
/// Admission: which blocks are worth holding in HBM beyond the read sets (F8 of METRICS.md). It
/// comes before replacement: blocks that are not admitted leave first, least recently used among
/// them; the replacement policy orders what admission leaves open.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host_driver/control/policy.h"
#include "host_driver/control/reuse.h"
#include "host_driver/workload/request.h"

namespace kvplane::control {

/// What decides.
enum class Admission {
    kNone,     ///< every block is admitted: replacement alone
    kHorizon,  ///< F8, once per horizon
    kCounter,  ///< blocks referenced often enough by an ageing sketch (Mooncake's gate)
};

struct AdmissionSpec {
    Admission admission = Admission::kNone;
    Time horizon = Time::from_s(120);    ///< kHorizon: H
    std::uint32_t references = 2;        ///< kCounter: 1 to 15
    Bytes sketch = Bytes::from_kib(64);  ///< kCounter
};

/// The greedy solution of F8 for blocks of one size: the `capacity` densest blocks of `density`
/// (V_b / M_b H, in any unit), closed under ancestors. A block's density is raised to that of its
/// densest descendant, since it must be held with it; ties go to ancestors, then to lower indices.
/// Blocks of density 0 are not chosen. Exact where no block is denser than its parent. `parent[b]`
/// must be below b. Returns the density of the marginal block, 0 where all fit; sets `admitted`.
std::uint64_t admit_densest(std::vector<std::uint64_t>& density,
                            std::span<const workload::BlockEntry> blocks, std::uint64_t capacity,
                            std::vector<bool>& admitted);

/// A replacement policy behind an admission.
///
/// kHorizon: V_b = P(read within H) x seconds saved, and as all blocks here are of one size and
/// cost the same to bring back, the densest are the likeliest. Once per horizon the densest blocks
/// that fit are admitted; between, a block is admitted when it is read if its density is at least
/// that of the marginal one.
class AdmissionOrder final : public Policy {
public:
    AdmissionOrder(const AdmissionSpec& spec, std::unique_ptr<Policy> policy,
                   std::uint64_t capacity, std::span<const workload::BlockEntry> blocks);

    void on_insert(BlockIndex block, const Moment& now) override;
    void on_access(const Access& access) override;
    void on_remove(BlockIndex block) override;
    void set_eligible(BlockIndex block, bool eligible) override;
    [[nodiscard]] BlockIndex victim(const Moment& now) override;
    void retain(BlockIndex block, const Retention& retention) override {
        m_policy->retain(block, retention);
    }
    void set_wanted(BlockIndex block, bool wanted) override { m_policy->set_wanted(block, wanted); }
    [[nodiscard]] Bytes state_bytes() const override;

private:
    void admit(BlockIndex block);
    void decide_anew(Time now);

    AdmissionSpec m_spec;
    std::unique_ptr<Policy> m_policy;
    std::uint64_t m_capacity;
    std::span<const workload::BlockEntry> m_blocks;
    std::vector<bool> m_admitted;
    std::vector<bool> m_eligible;
    std::vector<std::uint64_t> m_touch;
    std::uint64_t m_touches = 0;
    EligibleQueue m_refused;  ///< eligible, not admitted
    ReusePredictor m_reuse;
    FrequencySketch m_sketch;
    std::vector<std::uint64_t> m_density;
    std::uint64_t m_marginal = 0;
    Time m_next_decision;
};

/// Throws std::invalid_argument with one sentence if the spec makes no sense.
void check(const AdmissionSpec& spec);

/// `policy`, behind an admission unless that is kNone. Checks the spec.
[[nodiscard]] std::unique_ptr<Policy> with_admission(const AdmissionSpec& spec,
                                                     std::unique_ptr<Policy> policy,
                                                     std::uint64_t capacity,
                                                     std::span<const workload::BlockEntry> blocks);

}  // namespace kvplane::control
