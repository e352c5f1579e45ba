// SPDX-License-Identifier: Apache-2.0
#include "model/index/cuckoo_table.h"

#include <random>
#include <utility>

#include "model/common/errors.h"

namespace kvplane::index {

CuckooTable::CuckooTable(const CuckooConfig& config)
    : m_config(config),
      m_log2(config.buckets_log2),
      m_slots((std::size_t{2} << config.buckets_log2) * config.slots) {
    if (m_log2 < 2 || m_log2 > 32 || config.slots < 2) {
        throw InvariantError("a cuckoo table needs 4 buckets and 2 slots at least");
    }
    m_stash.reserve(config.stash);
    std::mt19937_64 seeds(config.seed);
    const std::uint64_t mask = (std::uint64_t{1} << m_log2) - 1;
    for (ByteTables& tables : m_hash) {
        std::array<std::uint32_t, 64> row{};
        for (std::uint32_t& word : row) word = static_cast<std::uint32_t>(seeds() & mask);
        for (std::size_t byte = 0; byte < tables.size(); ++byte) {
            for (std::size_t value = 0; value < 256; ++value) {
                std::uint32_t hash = 0;
                for (std::size_t bit = 0; bit < 8; ++bit) {
                    if ((value >> bit & 1U) != 0) hash ^= row[byte * 8 + bit];
                }
                tables[byte][value] = hash;
            }
        }
    }
}

std::uint64_t CuckooTable::bucket_of(std::uint32_t half, std::uint64_t key) const {
    std::uint64_t tag = tag_of(key);
    std::uint64_t bucket = key & ((std::uint64_t{1} << m_log2) - 1);
    for (std::size_t byte = 0; tag != 0; ++byte, tag >>= 8) {
        bucket ^= m_hash[half][byte][tag & 0xFF];
    }
    return bucket;
}

std::uint64_t CuckooTable::key_at(std::uint32_t half, std::uint64_t bucket,
                                  const Entry& entry) const {
    // bucket = rest ^ T(tag), so rest = bucket ^ T(tag): hashing a key with rest = 0 gives T(tag).
    const std::uint64_t high = std::uint64_t{entry.tag} << m_log2;
    return high | (bucket ^ bucket_of(half, high));
}

Entry* CuckooTable::slot(std::uint32_t half, std::uint64_t bucket) {
    return &m_slots[((std::uint64_t{half} << m_log2) + bucket) * m_config.slots];
}

Entry* CuckooTable::find(std::uint64_t key) {
    const std::uint64_t tag = tag_of(key);
    for (std::uint32_t half = 0; half < 2; ++half) {
        Entry* bucket = slot(half, bucket_of(half, key));
        for (std::uint32_t i = 0; i < m_config.slots; ++i) {
            if (!bucket[i].free() && bucket[i].tag == tag) return &bucket[i];
        }
    }
    for (Stashed& stashed : m_stash) {
        if (stashed.key == key) return &stashed.entry;
    }
    return nullptr;
}

std::optional<Entry> CuckooTable::lookup(std::uint64_t key) const {
    const Entry* entry = const_cast<CuckooTable*>(this)->find(key);
    if (entry == nullptr) return std::nullopt;
    return *entry;
}

bool CuckooTable::update(std::uint64_t key, Entry entry) {
    Entry* found = find(key);
    if (found == nullptr) return false;
    entry.tag = found->tag;
    *found = entry;
    return true;
}

InsertStatus CuckooTable::insert(std::uint64_t key, Entry entry) {
    if (find(key) != nullptr) return InsertStatus::kExists;
    entry.tag = tag_of(key) & ((std::uint64_t{1} << 62) - 1);
    if (!place(key, entry)) {
        if (m_stash.size() >= m_config.stash) return InsertStatus::kFull;
        m_stash.push_back({key, entry});
        kick_until_placed();
    }
    ++m_size;
    return InsertStatus::kDone;
}

bool CuckooTable::place(std::uint64_t key, const Entry& entry) {
    Entry* best = nullptr;
    std::uint32_t most_free = 0;
    for (std::uint32_t half = 0; half < 2; ++half) {
        Entry* bucket = slot(half, bucket_of(half, key));
        Entry* free = nullptr;
        std::uint32_t count = 0;
        for (std::uint32_t i = 0; i < m_config.slots; ++i) {
            if (!bucket[i].free()) continue;
            free = free == nullptr ? &bucket[i] : free;
            ++count;
        }
        if (count > most_free) {
            best = free;
            most_free = count;
        }
    }
    if (best == nullptr) return false;
    *best = entry;
    return true;
}

void CuckooTable::kick_until_placed() {
    // The newest stashed entry swaps places with a victim, so that every key is in exactly one
    // place throughout; at the limit it stays in the stash, visible. A victim goes on to its other
    // half: back where it came from it would only undo the last kick.
    auto half = static_cast<std::uint32_t>(next_victim() & 1U);
    for (std::uint32_t kick = 0; kick < m_config.kick_limit; ++kick, half ^= 1U) {
        Stashed& moving = m_stash.back();
        const std::uint64_t bucket = bucket_of(half, moving.key);
        Entry& victim = slot(half, bucket)[next_victim() % m_config.slots];
        ++m_kicks;
        const Stashed out{key_at(half, bucket, victim), victim};
        victim = moving.entry;
        moving = out;
        if (place(moving.key, moving.entry)) {
            m_stash.pop_back();
            return;
        }
    }
}

std::uint64_t CuckooTable::next_victim() {
    m_victim = m_victim * 6364136223846793005ULL + 1442695040888963407ULL;
    return m_victim >> 33;
}

std::optional<Entry> CuckooTable::erase(std::uint64_t key) {
    for (std::size_t i = 0; i < m_stash.size(); ++i) {
        if (m_stash[i].key != key) continue;
        const Entry removed = m_stash[i].entry;
        m_stash.erase(m_stash.begin() + static_cast<std::ptrdiff_t>(i));
        --m_size;
        return removed;
    }
    Entry* found = find(key);
    if (found == nullptr) return std::nullopt;
    const Entry removed = std::exchange(*found, Entry{});
    --m_size;
    drain_stash();
    return removed;
}

void CuckooTable::drain_stash() {
    for (std::size_t i = 0; i < m_stash.size(); ++i) {
        if (!place(m_stash[i].key, m_stash[i].entry)) continue;
        m_stash.erase(m_stash.begin() + static_cast<std::ptrdiff_t>(i));
        return;
    }
}

}  // namespace kvplane::index
