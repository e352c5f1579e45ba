// SPDX-License-Identifier: Apache-2.0
/// The pending events of one module: a binary heap ordered by time, then by order of scheduling,
/// behind one sc_event. A module makes its SC_METHOD sensitive to event() and pops what is due.
#pragma once

#include <algorithm>
#include <cstdint>
#include <systemc>
#include <vector>

#include "model/common/sim_time.h"

namespace kvplane {

template <class T>
class EventHeap {
public:
    explicit EventHeap(const char* name) : m_event(name) { m_heap.reserve(64); }

    /// Fires when the earliest pending event is due.
    [[nodiscard]] const sc_core::sc_event& event() const { return m_event; }

    /// `at` must not lie in the past.
    void schedule(Time at, T what) {
        sc_assert(at >= now());
        m_heap.push_back({at, m_sequence++, what});
        std::push_heap(m_heap.begin(), m_heap.end(), Later{});
        if (m_heap.front().sequence == m_sequence - 1) arm();
    }

    /// Takes the next event that is due; false where none is, and then the sc_event is armed for
    /// the next one.
    [[nodiscard]] bool pop_due(T& what) {
        if (m_armed <= now()) m_armed = Time::never();  // it has fired
        if (m_heap.empty()) return false;
        if (m_heap.front().at > now()) {
            arm();
            return false;
        }
        what = m_heap.front().what;
        std::pop_heap(m_heap.begin(), m_heap.end(), Later{});
        m_heap.pop_back();
        return true;
    }

    [[nodiscard]] bool empty() const { return m_heap.empty(); }

    /// Forgets all that is pending.
    void clear() {
        m_heap.clear();
        m_event.cancel();
        m_armed = Time::never();
    }

private:
    struct Pending {
        Time at;
        std::uint64_t sequence;
        T what;
    };
    struct Later {
        bool operator()(const Pending& a, const Pending& b) const {
            return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
        }
    };

    /// Has the event pending for the earliest of all, and for nothing else.
    void arm() {
        const Time at = m_heap.front().at;
        if (at == m_armed) return;
        m_event.cancel();
        m_event.notify(to_sc_time(at - now()));
        m_armed = at;
    }

    std::vector<Pending> m_heap;
    std::uint64_t m_sequence = 0;
    Time m_armed = Time::never();  ///< when m_event fires
    sc_core::sc_event m_event;
};

}  // namespace kvplane
