// SPDX-License-Identifier: Apache-2.0
/// The card's DRAM as the CXL.mem front end sees it, without an engine beside it.
#pragma once

#include "model/common/flat_map.h"
#include "model/cxl/line_memory_if.h"
#include "model/memory/dram.h"
#include "model/memory/sparse_store.h"

namespace kvplane::card {

class CardMemory final : public cxl::LineMemoryIf {
public:
    explicit CardMemory(const memory::DramConfig& config) : m_dram(config) {}

    Time access_line(Time at, Dpa line, bool) override {
        return m_dram.access_line(at, line, Ratio{});
    }
    void read(Dpa address, std::span<std::uint8_t> data) const override {
        m_store.read(address.value, data);
    }
    void write(Dpa address, std::span<const std::uint8_t> data) override {
        m_store.write(address.value, data);
    }
    [[nodiscard]] bool poisoned(Dpa line) const override {
        return m_poisoned.size() != 0 && m_poisoned.find(line.value) != nullptr;
    }
    void set_poison(Dpa line, bool poisoned) override {
        if (poisoned) {
            m_poisoned.insert(line.value, true);
        } else if (m_poisoned.size() != 0) {
            m_poisoned.erase(line.value);
        }
    }
    [[nodiscard]] bool writable(Dpa) const override { return true; }
    [[nodiscard]] Ratio other_load() const override { return {}; }
    void clear() override {
        m_store = {};
        m_poisoned = Poisoned();
    }

private:
    struct Mix {
        std::uint64_t operator()(std::uint64_t line) const {
            line *= 0x9E3779B97F4A7C15ULL;
            return line ^ line >> 32U;
        }
    };

    using Poisoned = FlatMap<std::uint64_t, bool, Mix>;

    memory::Dram m_dram;
    memory::SparseStore m_store;
    Poisoned m_poisoned;
};

}  // namespace kvplane::card
