// SPDX-License-Identifier: Apache-2.0
/// The function of the resident index: a bucketed cuckoo hash table of two halves. A key has one
/// bucket in each half; the bucket in the other half follows from a stored entry alone. Exact on
/// 64-bit keys. Keys must be well mixed: BlockKey::fold() is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/index/entry.h"

namespace kvplane::index {

struct CuckooConfig {
    std::uint32_t buckets_log2 = 16;  ///< per half; 2 to 32
    std::uint32_t slots = 4;          ///< of a bucket; at least 2
    std::uint32_t stash = 16;
    std::uint32_t kick_limit = 32;
    std::uint64_t seed = 1;
};

enum class InsertStatus {
    kDone,
    kExists,  ///< the key is there; nothing changed
    kFull,    ///< no slot and no room in the stash; nothing changed
};

class CuckooTable {
public:
    explicit CuckooTable(const CuckooConfig& config);

    /// The entry of `key`, or nothing.
    [[nodiscard]] std::optional<Entry> lookup(std::uint64_t key) const;
    /// Adds `entry` (its tag is set from the key).
    [[nodiscard]] InsertStatus insert(std::uint64_t key, Entry entry);
    /// Replaces the entry of `key` but for its tag; false where the key is not there.
    [[nodiscard]] bool update(std::uint64_t key, Entry entry);
    /// Removes and returns the entry of `key`.
    std::optional<Entry> erase(std::uint64_t key);

    [[nodiscard]] std::uint64_t size() const { return m_size; }
    [[nodiscard]] std::uint64_t capacity() const { return m_slots.size(); }
    [[nodiscard]] std::uint64_t kicks() const { return m_kicks; }
    [[nodiscard]] std::uint64_t stashed() const { return m_stash.size(); }

private:
    struct Stashed {
        std::uint64_t key;
        Entry entry;
    };
    /// XOR-linear hash of the tag, a table for each of its bytes.
    using ByteTables = std::array<std::array<std::uint32_t, 256>, 8>;

    [[nodiscard]] std::uint64_t tag_of(std::uint64_t key) const { return key >> m_log2; }
    [[nodiscard]] std::uint64_t bucket_of(std::uint32_t half, std::uint64_t key) const;
    [[nodiscard]] std::uint64_t key_at(std::uint32_t half, std::uint64_t bucket,
                                       const Entry& entry) const;
    [[nodiscard]] Entry* slot(std::uint32_t half, std::uint64_t bucket);
    [[nodiscard]] Entry* find(std::uint64_t key);
    [[nodiscard]] bool place(std::uint64_t key, const Entry& entry);
    void kick_until_placed();
    [[nodiscard]] std::uint64_t next_victim();
    void drain_stash();

    CuckooConfig m_config;
    std::uint32_t m_log2;
    std::array<ByteTables, 2> m_hash;
    std::vector<Entry> m_slots;  ///< half, bucket, slot
    std::vector<Stashed> m_stash;
    std::uint64_t m_size = 0;
    std::uint64_t m_kicks = 0;
    std::uint64_t m_victim = 0;
};

}  // namespace kvplane::index
