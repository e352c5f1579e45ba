// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/policies/priority.h"

#include <algorithm>

namespace kvplane::control {
namespace {

constexpr auto kLater = [](const auto& a, const auto& b) { return a.at > b.at; };

}  // namespace

void Priority::retain(BlockIndex block, const Retention& retention) {
    m_retention[block.value] = retention;
    if (retention.until != Time::never()) {
        m_expiries.push_back({retention.until, block});
        std::push_heap(m_expiries.begin(), m_expiries.end(), kLater);
    }
    if (m_resident[block.value]) rerank(block, retention.priority);
}

std::uint64_t Priority::arrive(BlockIndex block, const Moment& now) {
    expire(now.wall);
    m_resident[block.value] = true;
    return m_retention[block.value].priority;
}

std::uint64_t Priority::use(const Access& access) {
    expire(access.now.wall);
    return m_retention[access.block.value].priority;
}

BlockIndex Priority::victim(const Moment& now) {
    expire(now.wall);
    return RankedPolicy::victim(now);
}

void Priority::expire(Time now) {
    while (!m_expiries.empty() && m_expiries.front().at <= now) {
        const BlockIndex block = m_expiries.front().block;
        std::pop_heap(m_expiries.begin(), m_expiries.end(), kLater);
        m_expiries.pop_back();
        // An intent may have replaced the one that this expiry belongs to.
        if (m_retention[block.value].until > now) continue;
        m_retention[block.value] = Retention{};
        if (m_resident[block.value]) rerank(block, Retention{}.priority);
    }
}

}  // namespace kvplane::control
