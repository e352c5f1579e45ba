// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "model/cxl/line_memory_if.h"
#include "model/management/poison_list.h"

namespace kvplane::management {

/// Bytes without time; poison is that of a list, where there is one.
class PlainMemory final : public cxl::LineMemoryIf {
public:
    explicit PlainMemory(PoisonList* poison = nullptr) : m_poison(poison) {}

    Time access_line(Time at, Dpa, bool) override { return at; }
    [[nodiscard]] Time idle_latency() const override { return {}; }
    void read(Dpa address, std::span<std::uint8_t> data) const override {
        for (std::size_t i = 0; i < data.size(); ++i) {
            const auto found = m_bytes.find(address.value + i);
            data[i] = found == m_bytes.end() ? 0 : found->second;
        }
    }
    void write(Dpa address, std::span<const std::uint8_t> data) override {
        for (std::size_t i = 0; i < data.size(); ++i) m_bytes[address.value + i] = data[i];
    }
    [[nodiscard]] bool read_poison(Dpa line) override {
        return m_poison != nullptr && m_poison->contains(line);
    }
    void set_poison(Dpa line, bool poisoned) override {
        if (m_poison == nullptr) return;
        if (poisoned) {
            m_poison->add(line, PoisonSource::kExternal, {});
        } else {
            m_poison->remove(line);
        }
    }
    [[nodiscard]] bool writable(Dpa) const override { return true; }
    [[nodiscard]] Ratio other_load() const override { return {}; }
    [[nodiscard]] Time wire_wait(cxl::Direction) const override { return {}; }
    void clear() override {
        m_bytes.clear();
        if (m_poison != nullptr) m_poison->clear();
    }

private:
    PoisonList* m_poison;
    std::map<std::uint64_t, std::uint8_t> m_bytes;
};

}  // namespace kvplane::management
