// SPDX-License-Identifier: Apache-2.0
#include "model/engine/intent_queue.h"

#include <algorithm>

#include "model/common/errors.h"

namespace kvplane::engine {

void IntentQueue::submission_tail(const management::QueueSetup& setup, std::uint32_t tail,
                                  Time at) {
    m_arrived.resize(setup.entries);
    for (; m_tail != tail; m_tail = (m_tail + 1) % setup.entries) m_arrived[m_tail] = at;
}

bool IntentQueue::portal(const management::QueueSetup& setup, const Intent& intent, Time at) {
    const std::uint32_t next = (m_tail + 1) % setup.entries;
    if (next == m_head) return false;
    m_portal.resize(setup.entries);
    m_portal[m_tail] = intent;
    submission_tail(setup, next, at);
    return true;
}

std::uint32_t IntentQueue::fetchable(const management::QueueSetup& setup) const {
    if (!setup.enabled || m_fetching != 0) return 0;
    const std::uint32_t mask = setup.entries - 1;
    const std::uint32_t waiting = (m_tail - m_head) & mask;
    const std::uint32_t unread = (m_completion_tail - m_completion_head) & mask;
    const std::uint32_t room = mask - unread;  // one entry stays free: full is not empty
    const std::uint32_t completions = room - std::min(room, m_held);
    return std::min({waiting, m_in_flight - m_held, completions});
}

std::uint32_t IntentQueue::begin_fetch(const management::QueueSetup& setup, std::uint32_t count) {
    m_fetching = std::min(count, setup.entries - m_head);
    m_held += m_fetching;
    return m_fetching;
}

void IntentQueue::take(const management::QueueSetup& setup, Fetched& fetched) {
    fetched.arrived = m_arrived[m_head];
    m_head = (m_head + 1) % setup.entries;
    if (m_head == 0) m_odd_pass = !m_odd_pass;
}

void IntentQueue::post(const management::QueueSetup& setup, DmaTargetIf& dma,
                       CompletionEntry entry) {
    if (m_held == 0) throw InvariantError("a completion without an intent in flight");
    --m_held;
    entry.phase_and_flags = m_phase ? kPhase : 0;
    const Hpa address = next_completion(setup);
    m_completion_tail = (m_completion_tail + 1) % setup.entries;
    if (m_completion_tail == 0) m_phase = !m_phase;
    dma.write_host(address, {reinterpret_cast<const std::uint8_t*>(&entry), sizeof(entry)});
}

}  // namespace kvplane::engine
