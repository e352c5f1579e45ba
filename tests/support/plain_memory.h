// SPDX-License-Identifier: Apache-2.0
/// A memory behind the CXL.mem front end: bytes, a latency, and a service time where one is set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "model/cxl/line_memory_if.h"

namespace kvplane::test {

class PlainMemory : public cxl::LineMemoryIf {
public:
    explicit PlainMemory(Time latency = {}) : m_latency(latency) {}

    Time access_line(Time at, Dpa, bool) override {
        ++accesses;
        m_free_at = std::max(m_free_at, at) + service;
        return m_free_at - service + m_latency;
    }
    [[nodiscard]] Time idle_latency() const override { return m_latency; }
    void read(Dpa address, std::span<std::uint8_t> data) const override {
        for (std::size_t i = 0; i < data.size(); ++i) {
            const auto found = m_bytes.find(address.value + i);
            data[i] = found == m_bytes.end() ? 0 : found->second;
        }
    }
    void write(Dpa address, std::span<const std::uint8_t> data) override {
        for (std::size_t i = 0; i < data.size(); ++i) m_bytes[address.value + i] = data[i];
    }
    [[nodiscard]] bool read_poison(Dpa line) override { return m_poison.count(line.value) != 0; }
    void set_poison(Dpa line, bool poisoned) override {
        if (poisoned) {
            m_poison.insert(line.value);
        } else {
            m_poison.erase(line.value);
        }
    }
    [[nodiscard]] bool writable(Dpa line) const override { return line.value != protected_line; }
    [[nodiscard]] Ratio other_load() const override { return load; }
    [[nodiscard]] Ratio queued(Dpa) override { return {}; }
    [[nodiscard]] Time wire_wait(cxl::Direction) const override { return {}; }
    void clear() override {
        m_bytes.clear();
        m_poison.clear();
    }

    std::uint64_t accesses = 0;
    Time service{};  ///< of a line, one after the other
    std::uint64_t protected_line = UINT64_MAX;
    Ratio load{};

private:
    Time m_latency;
    Time m_free_at;
    std::map<std::uint64_t, std::uint8_t> m_bytes;
    std::set<std::uint64_t> m_poison;
};

}  // namespace kvplane::test
