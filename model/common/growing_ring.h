// SPDX-License-Identifier: Apache-2.0
/// A first-in first-out queue that grows to what it once held, and then allocates no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvplane {

template <class T>
class GrowingRing {
public:
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(m_tail - m_head); }
    [[nodiscard]] bool empty() const { return m_head == m_tail; }
    /// The oldest; the queue must not be empty.
    [[nodiscard]] const T& front() const { return m_items[m_head & (m_items.size() - 1)]; }
    [[nodiscard]] T& front() { return m_items[m_head & (m_items.size() - 1)]; }

    /// The youngest; the queue must not be empty.
    [[nodiscard]] const T& back() const { return m_items[(m_tail - 1) & (m_items.size() - 1)]; }

    void push(const T& item) {
        if (size() == m_items.size()) grow();
        m_items[m_tail++ & (m_items.size() - 1)] = item;
    }
    /// Takes the oldest away; the queue must not be empty.
    T pop() { return m_items[m_head++ & (m_items.size() - 1)]; }
    /// Takes the youngest away; the queue must not be empty.
    void pop_back() { --m_tail; }

private:
    void grow() {
        std::vector<T> larger(m_items.size() * 2);
        for (std::uint64_t i = m_head; i != m_tail; ++i) {
            larger[i & (larger.size() - 1)] = m_items[i & (m_items.size() - 1)];
        }
        m_items.swap(larger);
    }

    std::vector<T> m_items = std::vector<T>(64);
    std::uint64_t m_head = 0;
    std::uint64_t m_tail = 0;
};

}  // namespace kvplane
