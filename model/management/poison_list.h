// SPDX-License-Identifier: Apache-2.0
/// The lines of the card that hold poison.
#pragma once

#include <cstdint>
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

class PoisonList {
public:
    struct Record {
        Dpa line;
        PoisonSource source = PoisonSource::kUnknown;
    };

    /// Poisons a line; a second time changes nothing.
    void add(Dpa line, PoisonSource source);
    /// False where the line held none.
    bool remove(Dpa line);
    [[nodiscard]] bool contains(Dpa line) const;
    /// Whether any line of [from, from + length) holds some.
    [[nodiscard]] bool touches(Dpa from, Bytes length) const {
        return !m_records.empty() && !within(from, length).empty();
    }
    /// Heals what lies in [from, from + length).
    void heal(Dpa from, Bytes length);
    /// Records of [from, from + length), in order of address.
    [[nodiscard]] std::span<const Record> within(Dpa from, Bytes length) const;
    [[nodiscard]] std::uint32_t injected() const { return m_injected; }
    [[nodiscard]] std::size_t size() const { return m_records.size(); }
    void clear() {
        m_records.clear();
        m_injected = 0;
    }

private:
    [[nodiscard]] std::size_t position(Dpa line) const;

    std::vector<Record> m_records;  ///< by address
    std::uint32_t m_injected = 0;
};

}  // namespace kvplane::management
