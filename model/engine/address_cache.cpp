// SPDX-License-Identifier: Apache-2.0
#include "model/engine/address_cache.h"

#include <algorithm>
#include <bit>

#include "model/common/errors.h"

namespace kvplane::engine {

AddressCache::AddressCache(const AddressCacheConfig& config)
    : m_config(config), m_entries(config.entries) {
    if (config.entries < kWays || !std::has_single_bit(config.entries) ||
        !std::has_single_bit(config.page.count)) {
        throw InvariantError("an address cache has a power of two of entries, and of a page");
    }
}

AddressCache::Entry* AddressCache::set_of(std::uint32_t pasid, std::uint64_t page) {
    const std::uint64_t hash = (page ^ std::uint64_t{pasid} << 40U) * 0x9E3779B97F4A7C15ULL;
    const std::uint64_t set = hash >> 32U & (m_entries.size() / kWays - 1);
    return &m_entries[set * kWays];
}

bool AddressCache::hits(std::uint32_t pasid, std::uint64_t page) {
    Entry* set = set_of(pasid, page);
    Entry* oldest = set;
    for (Entry* entry = set; entry != set + kWays; ++entry) {
        if (entry->valid && entry->page == page && entry->pasid == pasid) {
            entry->used = ++m_uses;
            ++m_counters.hits;
            return true;
        }
        if (entry->used < oldest->used) oldest = entry;
    }
    *oldest = {page, pasid, true, ++m_uses};
    ++m_counters.misses;
    return false;
}

void AddressCache::look_up(std::uint32_t pasid, Hpa address, Bytes size, Translations& all) {
    if (!m_config.pasid) return;
    const std::uint64_t first = address.value / m_config.page.count;
    const std::uint64_t last = (address.value + size.count - 1) / m_config.page.count;
    for (std::uint64_t page = first; page <= last; ++page) {
        if (!hits(pasid, page)) all.missed = true;
    }
    all.pages += last - first + 1;
}

void AddressCache::invalidate(std::uint32_t pasid, Hpa address) {
    ++m_counters.invalidations;
    const std::uint64_t page = address.value / m_config.page.count;
    Entry* set = set_of(pasid, page);
    for (Entry* entry = set; entry != set + kWays; ++entry) {
        if (entry->page == page && entry->pasid == pasid) *entry = {};
    }
}

void AddressCache::clear() { std::fill(m_entries.begin(), m_entries.end(), Entry{}); }

}  // namespace kvplane::engine
