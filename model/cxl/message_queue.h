// SPDX-License-Identifier: Apache-2.0
/// A queue of messages in order of arrival. It grows to what it once held, and then allocates no
/// more.
#pragma once

#include <cstdint>
#include <vector>

#include "model/cxl/flit.h"

namespace kvplane::cxl {

class MessageQueue {
public:
    struct Entry {
        FlitMessage message;
        std::uint64_t sequence;  ///< order of arrival over all queues of a packer
    };

    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(m_tail - m_head); }
    [[nodiscard]] bool empty() const { return m_head == m_tail; }
    /// The oldest; the queue must not be empty.
    [[nodiscard]] const Entry& front() const { return m_ring[m_head & (m_ring.size() - 1)]; }

    void push(const FlitMessage& message, std::uint64_t sequence) {
        if (size() == m_ring.size()) grow();
        m_ring[m_tail++ & (m_ring.size() - 1)] = {message, sequence};
    }
    FlitMessage pop() { return m_ring[m_head++ & (m_ring.size() - 1)].message; }

private:
    void grow() {
        std::vector<Entry> larger(m_ring.size() * 2);
        for (std::uint64_t i = m_head; i != m_tail; ++i) {
            larger[i & (larger.size() - 1)] = m_ring[i & (m_ring.size() - 1)];
        }
        m_ring.swap(larger);
    }

    std::vector<Entry> m_ring{64};
    std::uint64_t m_head = 0;
    std::uint64_t m_tail = 0;
};

}  // namespace kvplane::cxl
