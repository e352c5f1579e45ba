// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/management/poison_list.h"
#include "tests/support/plain_memory.h"

namespace kvplane::management {

/// Its poison is that of a list.
class PlainMemory final : public test::PlainMemory {
public:
    explicit PlainMemory(PoisonList& poison) : m_poison(poison) {}

    [[nodiscard]] bool read_poison(Dpa line) override { return m_poison.contains(line); }
    void set_poison(Dpa line, bool poisoned) override {
        if (poisoned) {
            m_poison.add(line, PoisonSource::kExternal, {});
        } else {
            m_poison.remove(line);
        }
    }
    void clear() override {
        test::PlainMemory::clear();
        m_poison.clear();
    }

private:
    PoisonList& m_poison;
};

}  // namespace kvplane::management
