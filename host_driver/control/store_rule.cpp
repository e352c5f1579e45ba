// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/store_rule.h"

#include <stdexcept>

namespace kvplane::control {
namespace {

constexpr std::uint32_t kMostSketched = 15;
constexpr std::uint64_t kMillion = 1'000'000;

}  // namespace

void check(const StoreSpec& spec) {
    if (spec.selection == Selection::kThreshold) {
        if (spec.references == 0)
            throw std::invalid_argument("a threshold counts from 1 reference");
        if (spec.counter.lifetime == Lifetime::kReset) {
            throw std::invalid_argument("a counter that resets never reaches a threshold");
        }
        check(spec.counter);
        if (spec.counter.lifetime == Lifetime::kGhosts && ghosts(spec.counter) == 0) {
            throw std::invalid_argument("a counter of references needs at least 16 B");
        }
        if (spec.counter.lifetime == Lifetime::kSketch && spec.references > kMostSketched) {
            throw std::invalid_argument("a sketch counts to 15 references");
        }
    }
    if (spec.selection == Selection::kPredicted && spec.probability_ppm > kMillion) {
        throw std::invalid_argument("a probability is at most 1");
    }
}

StoreRule::StoreRule(const StoreSpec& spec, std::size_t blocks) : m_spec(spec) {
    check(spec);
    switch (spec.selection) {
        case Selection::kAll:
            break;
        case Selection::kThreshold:
            if (spec.counter.lifetime == Lifetime::kSketch) {
                m_sketch.emplace(spec.counter.bytes);
            } else {
                m_counts.assign(blocks, 0);
            }
            if (spec.counter.lifetime == Lifetime::kGhosts) m_tracked.emplace(blocks, 1);
            break;
        case Selection::kPredicted:
            m_reuse.emplace(blocks);
            break;
        case Selection::kIntent:
            m_intent.assign(blocks, false);
            break;
    }
}

void StoreRule::on_access(const Access& access) {
    if (m_sketch) m_sketch->add(access.block);
    if (m_reuse) m_reuse->on_access(access.block, access.now.wall);
    if (!m_counts.empty()) count(access.block);
}

void StoreRule::count(BlockIndex block) {
    m_counted += m_counts[block.value] == 0 ? 1 : 0;
    ++m_counts[block.value];
    if (!m_tracked) return;
    if (m_tracked->list_of(block) == 0) m_tracked->erase(block);
    if (m_tracked->size(0) == ghosts(m_spec.counter)) {
        m_counts[m_tracked->front(0).value] = 0;
        m_tracked->erase(m_tracked->front(0));
    }
    m_tracked->push_back(0, block);
}

void StoreRule::set_intent(BlockIndex block, bool keep) {
    if (!m_intent.empty()) m_intent[block.value] = keep;
}

Bytes StoreRule::state_bytes() const {
    switch (m_spec.selection) {
        case Selection::kAll:
        case Selection::kIntent:
            return Bytes{0};
        case Selection::kThreshold:
            if (m_sketch) return m_sketch->bytes();
            return kGhostBytes * (m_tracked ? ghosts(m_spec.counter) : m_counted);
        case Selection::kPredicted:
            return m_reuse->bytes();
    }
    return Bytes{0};
}

bool StoreRule::stores(BlockIndex block, const Moment& now) const {
    switch (m_spec.selection) {
        case Selection::kAll:
            return true;
        case Selection::kThreshold:
            return (m_sketch ? m_sketch->count(block) : m_counts[block.value]) >= m_spec.references;
        case Selection::kPredicted:
            return m_reuse->probability(block, now.wall, m_spec.horizon) * kMillion >=
                   ReusePredictor::kCertain * m_spec.probability_ppm;
        case Selection::kIntent:
            return m_intent[block.value];
    }
    return true;
}

}  // namespace kvplane::control
