// SPDX-License-Identifier: Apache-2.0
#include "model/index/cuckoo_table.h"

#include <algorithm>
#include <bit>

#include "model/common/errors.h"
#include "model/index/secded.h"

namespace kvplane::index {
namespace {

void check(const CuckooConfig& c) {
    const bool shape = c.choices >= 1 && c.choices <= CuckooTable::kMostChoices && c.slots >= 1 &&
                       c.slots <= CuckooTable::kMostSlots && c.buckets_log2 >= 2 &&
                       c.buckets_log2 <= 32;
    const bool fingerprints =
        c.fingerprint_bits == 0 || (c.fingerprint_bits >= 8 && c.fingerprint_bits <= 16);
    if (!shape || !fingerprints || (c.choices > 1 && c.stash == 0)) {
        throw InvariantError(
            "a cuckoo table has 1 to 4 choices of 4 to 2^32 buckets with 1 to 16 "
            "slots, fingerprints of 0 or 8 to 16 bits, and a stash where it kicks");
    }
}

}  // namespace

CuckooTable::CuckooTable(const CuckooConfig& config)
    : m_config((check(config), config)),
      m_log2(config.buckets_log2),
      m_bucket_mask((std::uint64_t{1} << m_log2) - 1),
      m_capacity((std::uint64_t{config.choices} << m_log2) * config.slots),
      m_lines((m_capacity + 3) / 4),
      m_fingerprints(config.fingerprint_bits == 0 ? 0 : m_capacity),
      m_random(config.seed) {
    const auto seeds = toeplitz_seeds(config.seed);
    for (std::uint32_t i = 0; i < config.choices; i += 2) {
        m_hash.emplace_back(Toeplitz(seeds[i], m_log2), Toeplitz(seeds[i + 1], m_log2));
    }
    if (config.choices == 1) m_config.stash = 0;
    m_stash.reserve(m_config.stash);
}

void CuckooTable::clear() {
    m_lines.assign(m_lines.size(), {});
    m_fingerprints.assign(m_fingerprints.size(), 0);
    m_stash.clear();
    m_faults.clear();
    m_written.reset();
    m_size = 0;
}

std::uint64_t CuckooTable::key_at(const Place& place, const Entry& entry) const {
    // bucket = rest ^ T(tag), so rest = bucket ^ T(tag).
    return std::uint64_t{entry.tag} << m_log2 | (place.bucket ^ hash(place.choice, entry.tag));
}

CuckooTable::Place CuckooTable::place_of(std::uint64_t slot) const {
    const std::uint64_t bucket = slot / m_config.slots;
    return {static_cast<std::uint32_t>(bucket >> m_log2), bucket & m_bucket_mask,
            static_cast<std::uint32_t>(slot % m_config.slots)};
}

std::uint16_t CuckooTable::fingerprint(std::uint64_t tag) const {
    // The hash of a bucket index uses all bits of the tag, and so do these; 0 means free.
    const std::uint64_t mixed = tag * 0x9E3779B97F4A7C15ULL >> (64U - m_config.fingerprint_bits);
    return static_cast<std::uint16_t>(mixed == 0 ? 1 : mixed);
}

std::uint64_t CuckooTable::random() {
    m_random = m_random * 6364136223846793005ULL + 1442695040888963407ULL;
    return m_random >> 33U;
}

CuckooTable::SlotRead CuckooTable::read_faulty_slot(std::uint64_t slot, Found* found) {
    const auto fault = std::lower_bound(m_faults.begin(), m_faults.end(), slot,
                                        [](const Fault& f, std::uint64_t s) { return f.slot < s; });
    if (fault == m_faults.end() || fault->slot != slot) return {at(slot)};
    auto words = std::bit_cast<std::array<std::uint64_t, 2>>(at(slot));
    bool bad = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto check = static_cast<std::uint8_t>(check_bits(words[i]) ^ fault->checks[i]);
        const DecodedWord read = decode(words[i] ^ fault->words[i], check);
        words[i] = read.word;
        bad |= read.state == WordState::kUncorrectable;
        if (read.state == WordState::kCorrected) {
            ++m_counters.corrected;
            if (found != nullptr) found->corrected = true;
        }
    }
    if (bad) {
        ++m_counters.uncorrectable;
        if (found != nullptr) found->bad = true;
    }
    return {std::bit_cast<Entry>(words), bad};
}

void CuckooTable::write_slot(const Place& place, const Entry& entry) {
    const std::uint64_t slot = first_slot(place.choice, place.bucket) + place.slot;
    at(slot) = entry;
    if (!m_fingerprints.empty()) {
        m_fingerprints[slot] = entry.free() ? std::uint16_t{0} : fingerprint(entry.tag);
    }
    m_written = place;
    if (!m_faults.empty()) std::erase_if(m_faults, [&](const Fault& f) { return f.slot == slot; });
}

std::uint32_t CuckooTable::find_tag(std::uint64_t first, std::uint64_t tag) {
    // No way out in between: which slot it is cannot be foreseen.
    const Entry* entries = slots_from(first);
    std::uint32_t match = kNone;
    for (std::uint32_t i = 0; i < m_config.slots; ++i) {
        const bool same = entries[i].tag == tag;
        match = same && !entries[i].free() ? i : match;
    }
    return match;
}

std::uint32_t CuckooTable::find_carefully(std::uint64_t first, std::uint64_t tag, Found& found) {
    const bool prints = !m_fingerprints.empty();
    const std::uint16_t wanted = prints ? fingerprint(tag) : std::uint16_t{0};
    for (std::uint32_t i = 0; i < m_config.slots; ++i) {
        if (prints && m_fingerprints[first + i] != wanted) continue;
        m_counters.entries_read += prints ? 1 : 0;
        const SlotRead read = read_slot(first + i, &found);
        if (!read.bad && !read.entry.free() && read.entry.tag == tag) {
            found.entry = read.entry;
            return i;
        }
        m_counters.false_matches += prints ? 1 : 0;
    }
    return kNone;
}

CuckooTable::Found CuckooTable::find(std::uint64_t key) {
    Found found;
    found.buckets = buckets_of(key);
    const Buckets& buckets = found.buckets;
    const std::uint64_t tag = tag_of(key);
    const bool plain = m_faults.empty() && m_fingerprints.empty();
    for (std::uint32_t choice = 0; choice < m_config.choices; ++choice) {
        __builtin_prefetch(&at(first_slot(choice, buckets[choice])));
    }
    for (std::uint32_t choice = 0; choice < m_config.choices; ++choice) {
        const std::uint64_t first = first_slot(choice, buckets[choice]);
        const std::uint32_t slot = plain ? find_tag(first, tag) : find_carefully(first, tag, found);
        if (slot == kNone) continue;
        found.slot = &at(first + slot);
        if (plain) found.entry = *found.slot;
        found.place = {choice, buckets[choice], slot};
        return found;
    }
    for (Stashed& stashed : m_stash) {
        if (stashed.key != key) continue;
        found.stashed = &stashed;
        found.entry = stashed.entry;
        return found;
    }
    return found;
}

Answer CuckooTable::lookup(std::uint64_t key) {
    return commit({.operation = Operation::kLookup, .key = key});
}

Answer CuckooTable::insert(std::uint64_t key, const Entry& entry) {
    const Answer answer = commit({.operation = Operation::kInsert, .key = key, .entry = entry});
    run_kicks();
    return answer;
}

Answer CuckooTable::update(std::uint64_t key, const Entry& entry, FieldMask mask,
                           std::optional<std::uint8_t> expect) {
    return commit({.operation = Operation::kUpdate,
                   .key = key,
                   .entry = entry,
                   .mask = mask,
                   .expect_version = expect.value_or(0),
                   .expect_valid = expect.has_value()});
}

Answer CuckooTable::erase(std::uint64_t key, std::optional<std::uint8_t> expect) {
    const Answer answer = commit({.operation = Operation::kDelete,
                                  .key = key,
                                  .expect_version = expect.value_or(0),
                                  .expect_valid = expect.has_value()});
    run_kicks();
    return answer;
}

Answer CuckooTable::commit(const Request& request) {
    m_written.reset();
    if (request.operation == Operation::kScrub) {
        return {.status = Status::kDone, .corrected = scrub() != 0};
    }
    const Found found = find(request.key);
    Answer answer{.status = found.found() ? Status::kHit : Status::kMiss, .entry = found.entry};
    switch (request.operation) {
        case Operation::kLookup:
        case Operation::kScrub:
            break;
        case Operation::kInsert:
            answer = commit_insert(request.key, request.entry, found);
            break;
        case Operation::kUpdate:
            if (found.found()) answer = commit_update(request, found);
            break;
        case Operation::kDelete:
        case Operation::kEvict:
            if (found.found()) answer = commit_erase(request, found);
            break;
    }
    if (found.bad && answer.status == Status::kMiss) answer.status = Status::kUncorrectable;
    answer.corrected = found.corrected;
    answer.uncorrectable = found.bad;
    return answer;
}

Answer CuckooTable::commit_insert(std::uint64_t key, Entry entry, const Found& found) {
    if (found.found()) return {.status = Status::kExists, .entry = found.entry};
    // A bad slot may hold this very key: inserted beside it, the key could be there twice.
    if (found.bad) return {.status = Status::kUncorrectable};
    constexpr std::uint64_t kTagMask = (std::uint64_t{1} << 62) - 1;
    entry.tag = tag_of(key) & kTagMask;
    if (entry.free()) throw InvariantError("index: an entry inserted as free");
    if (!put(found.buckets, entry, (1U << m_config.choices) - 1)) {
        if (m_stash.size() >= m_config.stash) return {.status = Status::kFull};
        m_stash.push_back({.key = key, .entry = entry});
    }
    ++m_size;
    return {.status = Status::kDone, .entry = entry};
}

Answer CuckooTable::commit_update(const Request& request, const Found& found) {
    if (request.expect_valid && request.expect_version != found.entry.version) {
        return {.status = Status::kVersionMismatch, .entry = found.entry};
    }
    const Entry merged = merge(found.entry, request.entry, request.mask);
    if (merged.free()) throw InvariantError("index: an entry updated to free");
    if (found.stashed != nullptr) {
        found.stashed->entry = merged;
    } else {
        write_slot(found.place, merged);
    }
    return {.status = Status::kDone, .entry = merged};
}

Answer CuckooTable::commit_erase(const Request& request, const Found& found) {
    if (request.expect_valid && request.expect_version != found.entry.version) {
        return {.status = Status::kVersionMismatch, .entry = found.entry};
    }
    if (found.stashed != nullptr) {
        m_stash.erase(m_stash.begin() + (found.stashed - m_stash.data()));
    } else {
        write_slot(found.place, Entry{});
        // What EVICT frees is for the entry that it made room for.
        if (request.operation == Operation::kDelete) rearm_oldest();
    }
    --m_size;
    return {.status = Status::kDone, .entry = found.entry};
}

CuckooTable::FreeSlots CuckooTable::free_slots(std::uint64_t first) {
    FreeSlots free;
    const bool plain = m_faults.empty();
    const Entry* entries = slots_from(first);
    for (std::uint32_t i = m_config.slots; i-- > 0;) {
        bool usable = entries[i].free();
        if (!plain) [[unlikely]] {
            const SlotRead read = read_faulty_slot(first + i, nullptr);
            usable = !read.bad && read.entry.free();
        }
        free.count += usable ? 1 : 0;
        free.lowest = usable ? i : free.lowest;
    }
    return free;
}

bool CuckooTable::put(const Buckets& buckets, const Entry& entry, std::uint32_t choices) {
    std::uint32_t best = 0;
    FreeSlots most;
    for (std::uint32_t choice = 0; choice < m_config.choices; ++choice) {
        if ((choices >> choice & 1U) == 0) continue;
        const FreeSlots free = free_slots(first_slot(choice, buckets[choice]));
        if (free.count <= most.count) continue;
        best = choice;
        most = free;
    }
    if (most.count == 0) return false;
    write_slot({best, buckets[best], most.lowest}, entry);
    return true;
}

std::optional<std::uint64_t> CuckooTable::kicking() const {
    for (const Stashed& stashed : m_stash) {
        if (stashed.armed) return stashed.key;
    }
    return std::nullopt;
}

std::uint32_t CuckooTable::kick_reads() const {
    for (const Stashed& stashed : m_stash) {
        if (!stashed.armed) continue;
        const std::uint32_t all = (1U << m_config.choices) - 1;
        return stashed.origin == kMostChoices ? all : all & ~(1U << stashed.origin);
    }
    return 0;
}

void CuckooTable::kick() {
    m_written.reset();
    const auto moving = std::find_if(m_stash.begin(), m_stash.end(),
                                     [](const Stashed& stashed) { return stashed.armed; });
    if (moving == m_stash.end()) throw InvariantError("index: a kick without a key to move");
    const Buckets buckets = buckets_of(moving->key);
    if (put(buckets, moving->entry, kick_reads())) {
        m_stash.erase(moving);
        return;
    }
    if (moving->kicks < m_config.kick_limit) {
        swap_with_victim(*moving, buckets);
    } else {
        ++m_counters.parked;
        moving->armed = false;
        // Behind all that have waited longer.
        std::rotate(moving, moving + 1, m_stash.end());
    }
}

void CuckooTable::swap_with_victim(Stashed& moving, const Buckets& buckets) {
    std::uint32_t choice = 0;
    do {
        choice = static_cast<std::uint32_t>(random() % m_config.choices);
    } while (choice == moving.origin);
    Place place{choice, buckets[choice], 0};
    place.slot = static_cast<std::uint32_t>(random() % m_config.slots);
    const std::uint64_t slot = first_slot(choice, place.bucket) + place.slot;
    const SlotRead victim = read_slot(slot, nullptr);
    ++moving.kicks;
    // A bad slot does not move: the kick is spent, and the next may choose another.
    if (victim.bad) return;
    ++m_counters.kicks;
    const std::uint64_t key = key_at(place, victim.entry);
    write_slot(place, moving.entry);
    moving.key = key;
    moving.entry = victim.entry;
    moving.origin = choice;
}

void CuckooTable::rearm_oldest() {
    for (Stashed& stashed : m_stash) {
        if (stashed.armed) continue;
        stashed.armed = true;
        stashed.kicks = 0;
        stashed.origin = kMostChoices;
        return;
    }
}

void CuckooTable::run_kicks() {
    if (m_stash.empty()) return;
    while (kicking()) kick();
}

std::optional<std::uint64_t> CuckooTable::victim_for(std::uint64_t key) {
    std::array<Place, std::size_t{kMostChoices} * kMostSlots> places;
    std::size_t count = 0;
    constexpr std::uint64_t kPinned = 4;
    const Buckets buckets = buckets_of(key);
    for (std::uint32_t choice = 0; choice < m_config.choices; ++choice) {
        const std::uint64_t bucket = buckets[choice];
        for (std::uint32_t i = 0; i < m_config.slots; ++i) {
            const SlotRead read = read_slot(first_slot(choice, bucket) + i, nullptr);
            if (read.bad) continue;
            if (read.entry.free()) return std::nullopt;
            const bool moving = read.entry.state == static_cast<std::uint64_t>(EntryState::kMoving);
            if (!moving && (read.entry.flags & kPinned) == 0) places[count++] = {choice, bucket, i};
        }
    }
    if (count == 0) return std::nullopt;
    const Place& place = places[random() % count];
    return key_at(place,
                  read_slot(first_slot(place.choice, place.bucket) + place.slot, nullptr).entry);
}

}  // namespace kvplane::index
