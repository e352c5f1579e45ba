// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "model/cxl/line_memory_if.h"

namespace kvplane::management {

/// Bytes without time or poison.
class PlainMemory final : public cxl::LineMemoryIf {
public:
    Time access_line(Time at, Dpa, bool) override { return at; }
    void read(Dpa address, std::span<std::uint8_t> data) const override {
        for (std::size_t i = 0; i < data.size(); ++i) {
            const auto found = m_bytes.find(address.value + i);
            data[i] = found == m_bytes.end() ? 0 : found->second;
        }
    }
    void write(Dpa address, std::span<const std::uint8_t> data) override {
        for (std::size_t i = 0; i < data.size(); ++i) m_bytes[address.value + i] = data[i];
    }
    [[nodiscard]] bool poisoned(Dpa) const override { return false; }
    void set_poison(Dpa, bool) override {}
    [[nodiscard]] bool writable(Dpa) const override { return true; }
    [[nodiscard]] Ratio other_load() const override { return {}; }
    void clear() override { m_bytes.clear(); }

private:
    std::map<std::uint64_t, std::uint8_t> m_bytes;
};

}  // namespace kvplane::management
