// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/admission.h"

#include <algorithm>
#include <stdexcept>

namespace kvplane::control {

std::uint64_t admit_densest(std::vector<std::uint64_t>& density,
                            std::span<const workload::BlockEntry> blocks, std::uint64_t capacity,
                            std::vector<bool>& admitted) {
    std::vector<std::uint32_t> order;
    for (std::size_t b = density.size(); b-- > 0;) {
        if (density[b] == 0) continue;
        order.push_back(static_cast<std::uint32_t>(b));
        const BlockIndex parent = blocks[b].parent;
        if (parent == kNoBlock) continue;
        density[parent.value] = std::max(density[parent.value], density[b]);
    }
    admitted.assign(density.size(), false);
    std::uint64_t marginal = 0;
    if (order.size() > capacity) {
        // Ancestors have lower indices than their descendants.
        const auto denser = [&density](std::uint32_t a, std::uint32_t b) {
            return density[a] != density[b] ? density[a] > density[b] : a < b;
        };
        const auto end = order.begin() + static_cast<std::ptrdiff_t>(capacity);
        std::nth_element(order.begin(), end, order.end(), denser);
        marginal = density[*end];
        order.resize(capacity);
    }
    for (const std::uint32_t b : order) admitted[b] = true;
    return marginal;
}

AdmissionOrder::AdmissionOrder(const AdmissionSpec& spec, std::unique_ptr<Policy> policy,
                               std::uint64_t capacity, std::span<const workload::BlockEntry> blocks)
    : m_spec(spec),
      m_policy(std::move(policy)),
      m_capacity(capacity),
      m_blocks(blocks),
      m_admitted(blocks.size(), false),
      m_eligible(blocks.size(), false),
      m_touch(blocks.size(), 0),
      m_refused(blocks.size()),
      m_reuse(blocks.size()),
      m_sketch(spec.sketch),
      m_density(blocks.size(), 0),
      m_next_decision(spec.horizon) {}

void AdmissionOrder::on_insert(BlockIndex block, const Moment& now) {
    m_policy->on_insert(block, now);
    m_touch[block.value] = ++m_touches;
}

void AdmissionOrder::on_access(const Access& access) {
    const BlockIndex block = access.block;
    m_policy->on_access(access);
    m_touch[block.value] = ++m_touches;
    m_refused.update(block, {0, m_touches});
    if (m_spec.admission == Admission::kCounter) {
        m_sketch.add(block);
        if (m_sketch.count(block) >= m_spec.references) admit(block);
        return;
    }
    m_reuse.on_access(block, access.now.wall);
    if (access.now.wall >= m_next_decision) decide_anew(access.now.wall);
    if (m_reuse.probability(block, access.now.wall, m_spec.horizon) >= m_marginal) admit(block);
}

void AdmissionOrder::admit(BlockIndex block) {
    // What is admitted has admitted ancestors.
    for (; block != kNoBlock && !m_admitted[block.value]; block = m_blocks[block.value].parent) {
        m_admitted[block.value] = true;
        m_refused.erase(block);
    }
}

void AdmissionOrder::decide_anew(Time now) {
    for (std::uint32_t b = 0; b < m_density.size(); ++b) {
        m_density[b] = m_reuse.probability({b}, now, m_spec.horizon);
    }
    m_marginal = admit_densest(m_density, m_blocks, m_capacity, m_admitted);
    for (std::uint32_t b = 0; b < m_density.size(); ++b) {
        m_refused.erase({b});
        if (m_eligible[b] && !m_admitted[b]) m_refused.push({b}, {0, m_touch[b]});
    }
    m_next_decision = now + m_spec.horizon;
}

void AdmissionOrder::on_remove(BlockIndex block) {
    m_policy->on_remove(block);
    m_refused.erase(block);
    m_eligible[block.value] = false;
    // The counter's verdict falls with the block; that of the horizon stands until the next.
    if (m_spec.admission == Admission::kCounter) m_admitted[block.value] = false;
}

void AdmissionOrder::set_eligible(BlockIndex block, bool eligible) {
    m_policy->set_eligible(block, eligible);
    m_eligible[block.value] = eligible;
    if (eligible && !m_admitted[block.value]) {
        m_refused.push(block, {0, m_touch[block.value]});
    } else {
        m_refused.erase(block);
    }
}

BlockIndex AdmissionOrder::victim(const Moment& now) {
    const BlockIndex refused = m_refused.first();
    return refused == kNoBlock ? m_policy->victim(now) : refused;
}

Bytes AdmissionOrder::state_bytes() const {
    const bool counter = m_spec.admission == Admission::kCounter;
    return m_policy->state_bytes() + (counter ? m_sketch.bytes() : m_reuse.bytes());
}

void check(const AdmissionSpec& spec) {
    if (spec.admission == Admission::kHorizon && spec.horizon <= Time{}) {
        throw std::invalid_argument("the horizon of admission must be positive");
    }
    if (spec.admission == Admission::kCounter && (spec.references == 0 || spec.references > 15)) {
        throw std::invalid_argument("a sketch counts from 1 to 15 references");
    }
    if (spec.admission == Admission::kCounter) check(StateSpec{Lifetime::kSketch, spec.sketch});
}

std::unique_ptr<Policy> with_admission(const AdmissionSpec& spec, std::unique_ptr<Policy> policy,
                                       std::uint64_t capacity,
                                       std::span<const workload::BlockEntry> blocks) {
    check(spec);
    if (spec.admission == Admission::kNone) return policy;
    return std::make_unique<AdmissionOrder>(spec, std::move(policy), capacity, blocks);
}

}  // namespace kvplane::control
