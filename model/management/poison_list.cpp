// SPDX-License-Identifier: Apache-2.0
#include "model/management/poison_list.h"

#include <algorithm>

namespace kvplane::management {

std::size_t PoisonList::position(Dpa line) const {
    const auto at = std::lower_bound(m_records.begin(), m_records.end(), line,
                                     [](const Record& a, Dpa b) { return a.line < b; });
    return static_cast<std::size_t>(at - m_records.begin());
}

bool PoisonList::contains(Dpa line) const {
    if (m_records.empty()) return false;
    const std::size_t at = position(line);
    return at != m_records.size() && m_records[at].line == line;
}

void PoisonList::add(Dpa line, PoisonSource source, Time at) {
    if (source == PoisonSource::kExternal && m_listener != nullptr) m_listener->poison_received();
    if (contains(line)) return;
    const bool listed = !full();
    if (!listed && !m_overflow) m_overflow = at;
    m_records.insert(m_records.begin() + static_cast<std::ptrdiff_t>(position(line)),
                     {line, source, listed});
    if (source == PoisonSource::kInjected) ++m_injected;
}

bool PoisonList::remove(Dpa line) {
    if (!contains(line)) return false;
    const std::size_t at = position(line);
    if (m_records[at].source == PoisonSource::kInjected) --m_injected;
    const bool listed = m_records[at].listed;
    m_records.erase(m_records.begin() + static_cast<std::ptrdiff_t>(at));
    if (m_overflow && listed) {
        std::find_if(m_records.begin(), m_records.end(), [](const Record& record) {
            return !record.listed;
        })->listed = true;
    }
    if (m_records.size() <= m_capacity) m_overflow.reset();
    return true;
}

std::span<const PoisonList::Record> PoisonList::within(Dpa from, Bytes length) const {
    if (m_records.empty()) return {};
    const std::size_t begin = position(from);
    std::size_t end = begin;
    while (end != m_records.size() && m_records[end].line.value - from.value < length.count) ++end;
    return {m_records.data() + begin, end - begin};
}

void PoisonList::heal(Dpa from, Bytes length) {
    for (auto bad = within(from, length); !bad.empty(); bad = within(from, length)) {
        remove(bad.front().line);
    }
}

}  // namespace kvplane::management
