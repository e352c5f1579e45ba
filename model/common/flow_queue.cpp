// SPDX-License-Identifier: Apache-2.0
#include "model/common/flow_queue.h"

#include <algorithm>

namespace kvplane {

void FlowFifo::push(const FlowJob& job, Time /*now*/) {
    if (m_head * 2 > m_waiting.size()) {
        m_waiting.erase(m_waiting.begin(), m_waiting.begin() + static_cast<std::ptrdiff_t>(m_head));
        m_head = 0;
    }
    m_waiting.push_back({job, 0, job.work()});
}

bool FlowFifo::take(Time /*now*/, Time /*begins*/, Rate /*rate*/, FlowGrant& grant) {
    if (m_head == m_waiting.size()) return false;
    grant = m_waiting[m_head++];
    return true;
}

void FlowFifo::put_back(const FlowGrant& rest) {
    m_waiting.insert(m_waiting.begin() + static_cast<std::ptrdiff_t>(m_head), rest);
}

bool FlowFifo::cancel(std::uint32_t id) {
    const auto waiting = m_waiting.begin() + static_cast<std::ptrdiff_t>(m_head);
    const auto found = std::find_if(waiting, m_waiting.end(),
                                    [&](const FlowGrant& grant) { return grant.job.id == id; });
    if (found == m_waiting.end()) return false;
    m_waiting.erase(found);
    return true;
}

void FlowFifo::clear(std::vector<std::uint32_t>& ids) {
    for (; m_head < m_waiting.size(); ++m_head) ids.push_back(m_waiting[m_head].job.id);
    m_waiting.clear();
    m_head = 0;
}

}  // namespace kvplane
