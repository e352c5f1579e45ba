// SPDX-License-Identifier: Apache-2.0
/// The card's cache of address translations (ATC): what PCIe ATS gives for a page of an address
/// space (PASID). Four ways a set, least recently used first out.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/units.h"

namespace kvplane::engine {

struct AddressCacheConfig {
    /// Requests carry a PASID and untranslated addresses need a translation; off: the host gives
    /// bus addresses and nothing is looked up.
    bool pasid = false;
    std::uint32_t entries = 64;        ///< a power of two, at least 4
    Bytes page = Bytes::from_mib(2);   ///< of a translation; a power of two
    Time hit = Time::from_ns(2);       ///< assumed: two cycles at 1 GHz
    Time miss = Time::from_ns(1'000);  ///< ATS request and answer, with a walk; assumed
};

struct AddressCacheCounters {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t invalidations = 0;
};

/// The look-ups of what is asked for together.
struct Translations {
    std::uint64_t pages = 0;
    bool missed = false;
};

class AddressCache {
public:
    explicit AddressCache(const AddressCacheConfig& config);

    /// Whether addresses need translations at all.
    [[nodiscard]] bool on() const { return m_config.pasid; }
    /// Looks up each page of [`address`, + `size`), and adds that to `all`.
    void look_up(std::uint32_t pasid, Hpa address, Bytes size, Translations& all);
    /// How long it takes until all are there: one page is looked up after another, and those that
    /// miss are waited for together.
    [[nodiscard]] Time wait(const Translations& all) const {
        return m_config.hit * static_cast<std::int64_t>(all.pages) +
               (all.missed ? m_config.miss : Time{});
    }
    /// The same for one range.
    Time translate(std::uint32_t pasid, Hpa address, Bytes size) {
        Translations all;
        look_up(pasid, address, size, all);
        return wait(all);
    }
    /// Drops the translation of the page of `address`.
    void invalidate(std::uint32_t pasid, Hpa address);
    /// Drops all.
    void clear();

    [[nodiscard]] const AddressCacheCounters& counters() const { return m_counters; }

private:
    static constexpr std::uint32_t kWays = 4;
    struct Entry {
        std::uint64_t page = 0;
        std::uint32_t pasid = 0;
        bool valid = false;
        std::uint64_t used = 0;
    };
    [[nodiscard]] Entry* set_of(std::uint32_t pasid, std::uint64_t page);
    [[nodiscard]] bool hits(std::uint32_t pasid, std::uint64_t page);

    AddressCacheConfig m_config;
    std::vector<Entry> m_entries;
    std::uint64_t m_uses = 0;
    AddressCacheCounters m_counters;
};

}  // namespace kvplane::engine
