// SPDX-License-Identifier: Apache-2.0
/// What policies share that give each block one rank.
#pragma once

#include <vector>

#include "host_driver/control/eligible_queue.h"
#include "host_driver/control/policy.h"

namespace kvplane::control {

/// A policy that orders blocks by (a number of its own, least recent use). Of blocks used by the
/// same read set the deepest is the least recently used one, since leaves are touched first: that
/// settles all ties.
class RankedPolicy : public Policy {
public:
    void on_insert(BlockIndex block, const Moment& now) override {
        touch(block, arrive(block, now));
    }
    void on_access(const Access& access) override { touch(access.block, use(access)); }
    void on_remove(BlockIndex block) override {
        m_queue.erase(block);
        leave(block);
    }
    void set_eligible(BlockIndex block, bool eligible) override {
        if (eligible) {
            m_queue.push(block, m_rank[block.value]);
        } else {
            m_queue.erase(block);
        }
    }
    [[nodiscard]] BlockIndex victim(const Moment& /*now*/) override { return m_queue.first(); }

protected:
    explicit RankedPolicy(std::size_t blocks) : m_rank(blocks), m_queue(blocks) {}

    /// The number of a block that comes in; of one that is referenced, after that reference; and
    /// what there is to remember of one that goes.
    virtual std::uint64_t arrive(BlockIndex block, const Moment& now) = 0;
    virtual std::uint64_t use(const Access& access) = 0;
    virtual void leave(BlockIndex /*block*/) {}

    /// Changes a block's number between references; its last use stays.
    void rerank(BlockIndex block, std::uint64_t number) {
        m_rank[block.value].major = number;
        m_queue.update(block, m_rank[block.value]);
    }
    [[nodiscard]] std::uint64_t number(BlockIndex block) const { return m_rank[block.value].major; }

private:
    void touch(BlockIndex block, std::uint64_t number) {
        m_rank[block.value] = {number, ++m_touches};
        m_queue.update(block, m_rank[block.value]);
    }

    std::vector<Rank> m_rank;
    EligibleQueue m_queue;
    std::uint64_t m_touches = 0;
};

}  // namespace kvplane::control
