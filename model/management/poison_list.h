// SPDX-License-Identifier: Apache-2.0
/// The lines of the card that hold poison, and a memory whose reads honour them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/common/units.h"
#include "model/cxl/line_memory_if.h"

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

/// A memory whose poison is that of a list. Poison that the host writes enters it.
class PoisonedMemory final : public cxl::LineMemoryIf {
public:
    PoisonedMemory(cxl::LineMemoryIf& memory, PoisonList& list) : m_memory(memory), m_list(list) {}

    Time access_line(Time at, Dpa line, bool write) override {
        return m_memory.access_line(at, line, write);
    }
    void read(Dpa address, std::span<std::uint8_t> data) const override {
        m_memory.read(address, data);
    }
    void write(Dpa address, std::span<const std::uint8_t> data) override {
        m_memory.write(address, data);
    }
    [[nodiscard]] bool poisoned(Dpa line) const override { return m_list.contains(line); }
    void set_poison(Dpa line, bool poisoned) override {
        if (poisoned) {
            m_list.add(line, PoisonSource::kExternal);
        } else {
            m_list.remove(line);
        }
    }
    [[nodiscard]] bool writable(Dpa line) const override { return m_memory.writable(line); }
    [[nodiscard]] Ratio other_load() const override { return m_memory.other_load(); }
    void clear() override {
        m_memory.clear();
        m_list.clear();
    }

private:
    cxl::LineMemoryIf& m_memory;
    PoisonList& m_list;
};

}  // namespace kvplane::management
