// SPDX-License-Identifier: Apache-2.0
/// An open-addressed hash table with linear probing. Not iterable, so that its order can never
/// reach a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvplane {

/// The hash of addresses and other numbers whose low bits say little.
struct NumberHash {
    std::uint64_t operator()(std::uint64_t number) const {
        number *= 0x9E3779B97F4A7C15ULL;
        return number ^ number >> 32U;
    }
};

/// Hash gives a well-mixed std::uint64_t for a key. Key and Value are small and copyable.
template <class Key, class Value, class Hash>
class FlatMap {
public:
    explicit FlatMap(std::size_t capacity_log2 = 6) : m_slots(std::size_t{1} << capacity_log2) {}

    [[nodiscard]] std::size_t size() const { return m_size; }

    /// The value of `key`, or nullptr. Valid until the next insert or erase.
    [[nodiscard]] Value* find(const Key& key) {
        const std::size_t i = position(key);
        return m_slots[i].used ? &m_slots[i].value : nullptr;
    }
    [[nodiscard]] const Value* find(const Key& key) const {
        const std::size_t i = position(key);
        return m_slots[i].used ? &m_slots[i].value : nullptr;
    }

    /// False, and nothing changed, where the key is there already.
    bool insert(const Key& key, const Value& value) {
        if ((m_size + 1) * 4 > m_slots.size() * 3) grow();
        const std::size_t i = position(key);
        if (m_slots[i].used) return false;
        m_slots[i] = {key, value, true};
        ++m_size;
        return true;
    }

    /// Forgets all.
    void clear() { *this = FlatMap(); }

    /// False where the key is not there.
    bool erase(const Key& key) {
        std::size_t hole = position(key);
        if (!m_slots[hole].used) return false;
        for (std::size_t i = next(hole); m_slots[i].used; i = next(i)) {
            const std::size_t home = home_of(m_slots[i].key);
            if (((i - home) & mask()) >= ((i - hole) & mask())) {
                m_slots[hole] = m_slots[i];
                hole = i;
            }
        }
        m_slots[hole].used = false;
        --m_size;
        return true;
    }

private:
    struct Slot {
        Key key{};
        Value value{};
        bool used = false;
    };

    [[nodiscard]] std::size_t mask() const { return m_slots.size() - 1; }
    [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & mask(); }
    [[nodiscard]] std::size_t home_of(const Key& key) const {
        return static_cast<std::size_t>(Hash{}(key)) & mask();
    }
    /// Where `key` is, or where it would go.
    [[nodiscard]] std::size_t position(const Key& key) const {
        std::size_t i = home_of(key);
        while (m_slots[i].used && !(m_slots[i].key == key)) i = next(i);
        return i;
    }
    void grow() {
        std::vector<Slot> old(m_slots.size() * 2);
        old.swap(m_slots);
        for (const Slot& slot : old) {
            if (slot.used) m_slots[position(slot.key)] = slot;
        }
    }

    std::vector<Slot> m_slots;
    std::size_t m_size = 0;
};

}  // namespace kvplane
