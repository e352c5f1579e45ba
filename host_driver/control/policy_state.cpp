// SPDX-License-Identifier: Apache-2.0
#include "host_driver/control/policy_state.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "model/common/random.h"

namespace kvplane::control {
namespace {

constexpr std::uint32_t kRows = 4;

/// Mixes a block and a row into 64 bits (the finaliser of splitmix64).
std::uint64_t hash(BlockIndex block, std::uint32_t row) {
    return mix64((std::uint64_t{row + 1} << 32 | block.value) * 0x9E3779B97F4A7C15U);
}

}  // namespace

void check(const StateSpec& spec) {
    if (spec.lifetime != Lifetime::kSketch) return;
    if (spec.bytes < kSmallestSketch || spec.bytes > kLargestSketch) {
        throw std::invalid_argument("a sketch has from " + to_string(kSmallestSketch) + " to " +
                                    to_string(kLargestSketch));
    }
}

std::uint64_t ghosts(const StateSpec& spec) {
    switch (spec.lifetime) {
        case Lifetime::kReset:
        case Lifetime::kSketch:
            return 0;
        case Lifetime::kGhosts:
            return spec.bytes / kGhostBytes;
        case Lifetime::kFull:
            return UINT64_MAX;
    }
    return 0;
}

History::History(const StateSpec& spec, std::size_t blocks, std::uint32_t cell)
    : m_spec(spec), m_cell(cell), m_ghosts(spec.lifetime == Lifetime::kGhosts ? blocks : 0, 1) {
    if (spec.lifetime == Lifetime::kSketch) {
        m_columns = std::max<std::uint64_t>(1, spec.bytes.count / cell / kRows);
        if (cell == 1) {
            m_bytes.assign(m_columns * kRows, 0);
        } else {
            m_values.assign(m_columns * kRows, 0);
        }
    } else if (spec.lifetime != Lifetime::kReset) {
        m_values.assign(blocks, 0);
    }
}

std::uint64_t History::cell(BlockIndex block, std::uint32_t row) const {
    return row * m_columns + hash(block, row) % m_columns;
}

void History::save_cells(BlockIndex block, std::uint64_t value) {
    const auto byte = static_cast<std::uint8_t>(std::min<std::uint64_t>(value, UINT8_MAX));
    for (std::uint32_t row = 0; row < kRows; ++row) {
        const std::uint64_t at = cell(block, row);
        if (m_cell == 1) {
            m_bytes[at] = std::max(m_bytes[at], byte);
        } else {
            m_values[at] = std::max(m_values[at], value);
        }
    }
}

std::uint64_t History::load_cells(BlockIndex block) const {
    std::uint64_t value = UINT64_MAX;
    for (std::uint32_t row = 0; row < kRows; ++row) {
        const std::uint64_t at = cell(block, row);
        value = std::min(value, m_cell == 1 ? std::uint64_t{m_bytes[at]} : m_values[at]);
    }
    return value;
}

void History::save(BlockIndex block, std::uint64_t value) {
    switch (m_spec.lifetime) {
        case Lifetime::kReset:
            return;
        case Lifetime::kGhosts:
            if (ghosts(m_spec) == 0) return;
            if (m_ghosts.size(0) == ghosts(m_spec)) {
                m_values[m_ghosts.front(0).value] = 0;
                m_ghosts.erase(m_ghosts.front(0));
            }
            m_ghosts.push_back(0, block);
            m_values[block.value] = value;
            return;
        case Lifetime::kSketch:
            save_cells(block, value);
            return;
        case Lifetime::kFull:
            if (m_values[block.value] == 0) ++m_seen;
            m_values[block.value] = value;
            return;
    }
}

std::uint64_t History::load(BlockIndex block) {
    switch (m_spec.lifetime) {
        case Lifetime::kReset:
            return 0;
        case Lifetime::kGhosts:
            if (m_ghosts.list_of(block) == 0) m_ghosts.erase(block);
            return std::exchange(m_values[block.value], 0);
        case Lifetime::kSketch:
            return load_cells(block);
        case Lifetime::kFull:
            return m_values[block.value];
    }
    return 0;
}

Bytes History::bytes() const {
    switch (m_spec.lifetime) {
        case Lifetime::kReset:
            return Bytes{0};
        case Lifetime::kGhosts:
            return kGhostBytes * ghosts(m_spec);
        case Lifetime::kSketch:
            return Bytes{m_columns * kRows * m_cell};
        case Lifetime::kFull:
            return kGhostBytes * m_seen;
    }
    return Bytes{0};
}

FrequencySketch::FrequencySketch(Bytes bytes)
    : m_columns(std::max<std::uint64_t>(bytes.count, 64) * 2 / kRows),
      m_cells((m_columns * kRows + 1) / 2, 0) {}

std::uint64_t FrequencySketch::nibble(BlockIndex block, std::uint32_t row) const {
    return row * m_columns + hash(block, row) % m_columns;
}

void FrequencySketch::add(BlockIndex block) {
    for (std::uint32_t row = 0; row < kRows; ++row) {
        const std::uint64_t at = nibble(block, row);
        const auto shift = static_cast<std::uint32_t>(at % 2 * 4);
        std::uint8_t& cell = m_cells[at / 2];
        if ((cell >> shift & 15U) != 15U) cell = static_cast<std::uint8_t>(cell + (1U << shift));
    }
    if (++m_added == m_columns * 10) age();
}

std::uint32_t FrequencySketch::count(BlockIndex block) const {
    std::uint32_t least = 15;
    for (std::uint32_t row = 0; row < kRows; ++row) {
        const std::uint64_t at = nibble(block, row);
        least = std::min(least, std::uint32_t{m_cells[at / 2]} >> (at % 2 * 4) & 15U);
    }
    return least;
}

void FrequencySketch::age() {
    for (std::uint8_t& cell : m_cells) cell = cell >> 1 & 0x77U;
    m_added /= 2;
}

}  // namespace kvplane::control
