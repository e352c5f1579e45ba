// SPDX-License-Identifier: Apache-2.0
/// The function of the resident index: a bucketed cuckoo hash table, split into one part for each
/// choice of bucket. A key has one bucket in each part; its buckets in the others follow from a
/// stored entry alone. Exact on 64-bit keys, which must be well mixed: BlockKey::fold() is.
///
/// A key is always in exactly one slot or one place of the stash. An insert that finds its buckets
/// full enters the stash, from where it swaps places with a victim, and so on until one finds a
/// free slot (a kick is one swap). At the kick limit the one in hand parks in the stash, visible;
/// each DELETE (not an EVICT) lets the longest parked try again.
///
/// Words are protected by SECDED: an entry with one wrong bit in a word is corrected when read. A
/// slot with two is bad: it is neither allocated nor moved, and answers no key, until drop_bad().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/index/entry.h"
#include "model/index/request.h"
#include "model/index/toeplitz.h"

namespace kvplane::index {

struct CuckooConfig {
    std::uint32_t choices = 2;  ///< 1 to 4; with 1 the table is set-associative, without kicks
    std::uint32_t buckets_log2 = 16;  ///< of each choice; 2 to 32
    std::uint32_t slots = 4;          ///< of a bucket; 1 to 16
    std::uint32_t stash = 16;         ///< places; at least 1 where the table kicks
    std::uint32_t kick_limit = 32;
    /// 0: all tags of a bucket are read and compared. 8 to 16: fingerprints of so many bits are
    /// read first, and then only the entries that match (their own array of fingerprints is taken
    /// to be intact).
    std::uint32_t fingerprint_bits = 0;
    std::uint64_t seed = 1;  ///< of the hashes and of the choice of victims
};

/// Events since the table was made.
struct CuckooCounters {
    std::uint64_t kicks = 0;
    std::uint64_t parked = 0;         ///< walks that ended at the kick limit
    std::uint64_t corrected = 0;      ///< words read with one wrong bit
    std::uint64_t uncorrectable = 0;  ///< slots read with two wrong bits in a word
    std::uint64_t entries_read = 0;   ///< after a fingerprint matched
    std::uint64_t false_matches = 0;  ///< of them, those with another tag
};

class CuckooTable {
public:
    /// A slot of the table.
    struct Place {
        std::uint32_t choice = 0;
        std::uint64_t bucket = 0;
        std::uint32_t slot = 0;
    };
    static constexpr std::uint32_t kMostChoices = 4;
    static constexpr std::uint32_t kMostSlots = 16;
    static constexpr std::uint32_t kNone = kMostSlots;

    /// Throws InvariantError on a config outside its ranges.
    explicit CuckooTable(const CuckooConfig& config);

    [[nodiscard]] Answer lookup(std::uint64_t key);
    [[nodiscard]] Answer insert(std::uint64_t key, const Entry& entry);
    /// Replaces the fields of `mask`, where the move version is `expect` if that is given.
    [[nodiscard]] Answer update(std::uint64_t key, const Entry& entry, FieldMask mask = field::kAll,
                                std::optional<std::uint8_t> expect = std::nullopt);
    /// Removes the entry and returns it.
    Answer erase(std::uint64_t key, std::optional<std::uint8_t> expect = std::nullopt);
    /// The key of an entry whose removal would make room for `key`: chosen at random in the buckets
    /// of `key`, never pinned nor moving. Nothing where there is none, or a free slot.
    [[nodiscard]] std::optional<std::uint64_t> victim_for(std::uint64_t key);
    /// Corrects the slots of the next bucket. Returns how many words it corrected.
    std::uint32_t scrub();

    /// Forgets every entry, and what bit errors there are. Events stay counted.
    void clear();

    /// One request without the kicks it starts: those are the caller's to step.
    Answer commit(const Request& request);
    /// The slot that the last commit or kick wrote, or nothing.
    [[nodiscard]] const std::optional<Place>& written() const { return m_written; }
    /// The key whose turn it is to move out of the stash, or nothing.
    [[nodiscard]] std::optional<std::uint64_t> kicking() const;
    /// The choices whose buckets that key's next step reads, one bit each.
    [[nodiscard]] std::uint32_t kick_reads() const;
    /// Takes that step. There must be a kicking key.
    void kick();

    /// The buckets of `key`, by choice; those of choices that the table has not are of no meaning.
    using Buckets = std::array<std::uint64_t, kMostChoices>;
    [[nodiscard]] Buckets buckets_of(std::uint64_t key) const {
        const std::uint64_t rest = key & m_bucket_mask;
        Buckets buckets{};
        for (std::size_t pair = 0; pair < m_hash.size(); ++pair) {
            const std::uint64_t hash = m_hash[pair](tag_of(key));
            buckets[2 * pair] = rest ^ (hash & UINT32_MAX);
            buckets[2 * pair + 1] = rest ^ hash >> 32U;
        }
        return buckets;
    }
    [[nodiscard]] std::uint64_t bucket_of(std::uint32_t choice, std::uint64_t key) const {
        return (key & m_bucket_mask) ^ hash(choice, tag_of(key));
    }
    [[nodiscard]] const CuckooConfig& config() const { return m_config; }
    [[nodiscard]] const CuckooCounters& counters() const { return m_counters; }
    [[nodiscard]] std::uint64_t size() const { return m_size; }
    [[nodiscard]] std::uint64_t capacity() const { return m_capacity; }
    [[nodiscard]] std::uint64_t kicks() const { return m_counters.kicks; }
    [[nodiscard]] std::uint64_t stashed() const { return m_stash.size(); }

    /// Flips a bit (0 to kProtectedBits - 1: word 0, word 1, their check bits) of the slot that
    /// holds `key`. False where no slot does.
    bool flip(std::uint64_t key, std::uint32_t bit);
    /// Flips a bit of any slot.
    void flip(const Place& place, std::uint32_t bit);
    /// Slots that no code can correct.
    [[nodiscard]] std::vector<Place> bad_places();
    [[nodiscard]] std::uint64_t bad_slots() { return bad_places().size(); }
    /// Frees them: what they held is lost. Returns how many entries that were.
    std::uint64_t drop_bad();

private:
    struct Stashed {
        std::uint64_t key = 0;
        Entry entry;
        std::uint32_t origin = kMostChoices;  ///< the choice it was displaced from, if any
        std::uint32_t kicks = 0;
        bool armed = true;
    };
    struct Fault {
        std::uint64_t slot = 0;
        std::array<std::uint64_t, 2> words{};  ///< the bits that are wrong
        std::array<std::uint8_t, 2> checks{};
    };
    struct SlotRead {
        Entry entry;
        bool bad = false;
    };
    struct Found {
        Buckets buckets;
        Entry* slot = nullptr;  ///< in the table, or
        Stashed* stashed = nullptr;
        Entry entry;
        Place place;
        bool corrected = false;
        bool bad = false;  ///< a bad slot was among those read
        [[nodiscard]] bool found() const { return slot != nullptr || stashed != nullptr; }
    };
    struct alignas(64) Line {
        std::array<Entry, 4> entries{};
    };

    [[nodiscard]] std::uint64_t tag_of(std::uint64_t key) const { return key >> m_log2; }
    [[nodiscard]] std::uint64_t hash(std::uint32_t choice, std::uint64_t tag) const {
        return m_hash[choice / 2](tag) >> 32U * (choice % 2) & UINT32_MAX;
    }
    [[nodiscard]] std::uint64_t key_at(const Place& place, const Entry& entry) const;
    [[nodiscard]] std::uint64_t first_slot(std::uint32_t choice, std::uint64_t bucket) const {
        return ((std::uint64_t{choice} << m_log2) + bucket) * m_config.slots;
    }
    /// Lines lie behind one another, and so do all their entries.
    [[nodiscard]] Entry* slots_from(std::uint64_t slot) {
        return m_lines.data()->entries.data() + slot;
    }
    [[nodiscard]] Entry& at(std::uint64_t slot) { return *slots_from(slot); }
    [[nodiscard]] std::uint16_t fingerprint(std::uint64_t tag) const;
    [[nodiscard]] Place place_of(std::uint64_t slot) const;

    [[nodiscard]] Found find(std::uint64_t key);
    /// The slot of `tag` in a bucket, or kNone.
    [[nodiscard]] std::uint32_t find_tag(std::uint64_t first, std::uint64_t tag);
    [[nodiscard]] std::uint32_t find_carefully(std::uint64_t first, std::uint64_t tag,
                                               Found& found);
    [[nodiscard]] SlotRead read_slot(std::uint64_t slot, Found* found) {
        if (m_faults.empty()) [[likely]]
            return {at(slot)};
        return read_faulty_slot(slot, found);
    }
    [[nodiscard]] SlotRead read_faulty_slot(std::uint64_t slot, Found* found);
    void write_slot(const Place& place, const Entry& entry);
    struct FreeSlots {
        std::uint32_t count = 0;
        std::uint32_t lowest = 0;
    };
    /// Of a bucket.
    [[nodiscard]] FreeSlots free_slots(std::uint64_t first);
    [[nodiscard]] bool put(const Buckets& buckets, const Entry& entry, std::uint32_t choices);

    [[nodiscard]] Answer commit_insert(std::uint64_t key, Entry entry, const Found& found);
    [[nodiscard]] Answer commit_update(const Request& request, const Found& found);
    [[nodiscard]] Answer commit_erase(const Request& request, const Found& found);
    void swap_with_victim(Stashed& moving, const Buckets& buckets);
    void rearm_oldest();
    void run_kicks();
    [[nodiscard]] std::uint64_t random();

    CuckooConfig m_config;
    std::uint32_t m_log2;
    std::uint64_t m_bucket_mask;
    std::uint64_t m_capacity;
    std::vector<ToeplitzPair> m_hash;  ///< of two choices each
    std::vector<Line> m_lines;         ///< entries by choice, bucket, slot
    std::vector<std::uint16_t> m_fingerprints;
    std::vector<Stashed> m_stash;
    std::vector<Fault> m_faults;  ///< in order of slots; few
    std::optional<Place> m_written;
    std::uint64_t m_size = 0;
    std::uint64_t m_random;
    std::uint64_t m_scrub_row = 0;
    CuckooCounters m_counters;
};

}  // namespace kvplane::index
