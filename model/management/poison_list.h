// SPDX-License-Identifier: Apache-2.0
/// The lines of the card that hold poison, and the bounded list of them that the host may ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/common/units.h"

namespace kvplane::management {

/// Where poison came from, as the poison list encodes it.
enum class PoisonSource : std::uint8_t {
    kUnknown = 0,
    kExternal = 1,  ///< the host wrote it
    kInternal = 2,  ///< media
    kInjected = 3,
    kVendor = 7,
};

/// Hears of poison that the host wrote.
class PoisonListener {
public:
    virtual ~PoisonListener() = default;
    virtual void poison_received() = 0;
};

/// Every poisoned line is here, so that reads honour it. The list that a host is shown is bounded:
/// a full one keeps what it has and says that it overflowed. A line that did not fit takes the next
/// free place, lowest address first; the overflow ends when all lines are listed again.
class PoisonList {
public:
    struct Record {
        Dpa line;
        PoisonSource source = PoisonSource::kUnknown;
        bool listed = true;
    };

    /// capacity: records of the list that a host is shown, 1 or more.
    explicit PoisonList(std::size_t capacity) : m_capacity(capacity) {}

    /// Optional; hears of each poison of kExternal, also where a line holds some already.
    void listen(PoisonListener& listener) { m_listener = &listener; }
    /// Poisons a line at `at`; a second time changes nothing.
    void add(Dpa line, PoisonSource source, Time at);
    /// False where the line held none.
    bool remove(Dpa line);
    [[nodiscard]] bool contains(Dpa line) const;
    /// Heals what lies in [from, from + length).
    void heal(Dpa from, Bytes length);
    /// Records of [from, from + length), listed or not, in order of address.
    [[nodiscard]] std::span<const Record> within(Dpa from, Bytes length) const;
    [[nodiscard]] std::uint32_t injected() const { return m_injected; }
    [[nodiscard]] std::size_t size() const { return m_records.size(); }
    /// A further line would not be listed.
    [[nodiscard]] bool full() const { return m_records.size() >= m_capacity; }
    /// When a line first did not fit into the list; nothing while all are listed.
    [[nodiscard]] std::optional<Time> overflow() const { return m_overflow; }
    void clear() {
        m_records.clear();
        m_injected = 0;
        m_overflow.reset();
    }

private:
    [[nodiscard]] std::size_t position(Dpa line) const;

    std::size_t m_capacity;
    std::vector<Record> m_records;  ///< by address
    std::uint32_t m_injected = 0;
    std::optional<Time> m_overflow;
    PoisonListener* m_listener = nullptr;
};

}  // namespace kvplane::management
