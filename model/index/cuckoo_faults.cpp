// SPDX-License-Identifier: Apache-2.0
/// What bit errors do to a CuckooTable.
#include <algorithm>

#include "model/common/errors.h"
#include "model/index/cuckoo_table.h"
#include "model/index/secded.h"

namespace kvplane::index {

bool CuckooTable::flip(std::uint64_t key, std::uint32_t bit) {
    const CuckooCounters before = m_counters;
    const Found found = find(key);
    m_counters = before;
    if (found.slot == nullptr) return false;
    flip(found.place, bit);
    return true;
}

void CuckooTable::flip(const Place& place, std::uint32_t bit) {
    if (place.choice >= m_config.choices || place.bucket > m_bucket_mask ||
        place.slot >= m_config.slots || bit >= kProtectedBits) {
        throw InvariantError("index: a bit flipped outside the table");
    }
    const std::uint64_t slot = first_slot(place.choice, place.bucket) + place.slot;
    auto fault = std::lower_bound(m_faults.begin(), m_faults.end(), slot,
                                  [](const Fault& f, std::uint64_t s) { return f.slot < s; });
    if (fault == m_faults.end() || fault->slot != slot) {
        fault = m_faults.insert(fault, Fault{.slot = slot});
    }
    if (bit < 128) {
        fault->words[bit / 64] ^= std::uint64_t{1} << bit % 64;
    } else {
        const std::uint32_t check = bit - 128;
        fault->checks[check / kCheckBits] ^= static_cast<std::uint8_t>(1U << check % kCheckBits);
    }
}

std::vector<CuckooTable::Place> CuckooTable::bad_places() {
    std::vector<Place> bad;
    const CuckooCounters before = m_counters;
    for (const Fault& fault : m_faults) {
        if (read_slot(fault.slot, nullptr).bad) bad.push_back(place_of(fault.slot));
    }
    m_counters = before;
    return bad;
}

std::uint64_t CuckooTable::drop_bad() {
    std::uint64_t lost = 0;
    for (const Place& place : bad_places()) {
        lost += at(first_slot(place.choice, place.bucket) + place.slot).free() ? 0 : 1;
        write_slot(place, Entry{});
    }
    m_size -= lost;
    return lost;
}

std::uint32_t CuckooTable::scrub() {
    const std::uint64_t rows = std::uint64_t{m_config.choices} << m_log2;
    const std::uint64_t row = m_scrub_row;
    m_scrub_row = (m_scrub_row + 1) % rows;
    if (m_faults.empty()) return 0;
    const std::uint64_t before = m_counters.corrected;
    for (std::uint32_t i = 0; i < m_config.slots; ++i) {
        const std::uint64_t slot = row * m_config.slots + i;
        const std::uint64_t corrected = m_counters.corrected;
        const SlotRead read = read_slot(slot, nullptr);
        if (!read.bad && m_counters.corrected != corrected) write_slot(place_of(slot), read.entry);
    }
    return static_cast<std::uint32_t>(m_counters.corrected - before);
}

}  // namespace kvplane::index
