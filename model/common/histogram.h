// SPDX-License-Identifier: Apache-2.0
/// Latencies, counted into bins at most 0.8 % wide. Count, sum and extremes are exact.
#pragma once

#include <bit>
#include <boost/histogram.hpp>
#include <cstdint>
#include <vector>

#include "model/common/units.h"

namespace kvplane {

/// An axis over non-negative picoseconds: 128 bins an octave, exact below 256 ps. Integer, where a
/// logarithm could place a value differently on another machine.
class LogAxis {
public:
    [[nodiscard]] int index(std::int64_t ps) const {
        const auto value = static_cast<std::uint64_t>(ps < 0 ? 0 : ps);
        if (value < kExact) return static_cast<int>(value);
        const int shift = static_cast<int>(std::bit_width(value)) - 8;
        return static_cast<int>(static_cast<std::uint64_t>(shift) * kBins + (value >> shift));
    }
    [[nodiscard]] int size() const { return static_cast<int>((63 - 8 + 1) * kBins + kExact); }
    /// The middle of a bin.
    [[nodiscard]] static std::int64_t middle(int index) {
        const auto i = static_cast<std::uint64_t>(index);
        if (i < kExact) return index;
        const std::uint64_t shift = i / kBins - 1;
        const std::uint64_t low = (i - shift * kBins) << shift;
        return static_cast<std::int64_t>(low + ((std::uint64_t{1} << shift) >> 1));
    }
    bool operator==(const LogAxis&) const = default;

private:
    static constexpr std::uint64_t kBins = 128;
    static constexpr std::uint64_t kExact = 256;
};

class Histogram {
public:
    Histogram()
        : m_bins(boost::histogram::make_histogram_with(std::vector<std::uint64_t>(), LogAxis{})) {}

    /// Adds `weight` samples of `value`, which must not be negative.
    void add(Time value, std::uint64_t weight = 1) {
        m_bins(boost::histogram::weight(weight), value.ps);
        m_count += weight;
        m_sum += static_cast<Int128>(value.ps) * static_cast<Int128>(weight);
        m_min = value < m_min ? value : m_min;
        m_max = value > m_max ? value : m_max;
    }

    [[nodiscard]] std::uint64_t count() const { return m_count; }
    [[nodiscard]] Int128 sum_ps() const { return m_sum; }
    /// Zero where empty; so are its siblings.
    [[nodiscard]] double mean_us() const {
        return m_count == 0 ? 0 : static_cast<double>(m_sum) / static_cast<double>(m_count) / 1e6;
    }
    [[nodiscard]] Time max() const { return m_count == 0 ? Time{} : m_max; }
    [[nodiscard]] Time min() const { return m_count == 0 ? Time{} : m_min; }
    /// The value below which `per_mille` of a thousand samples lie, within the width of a bin.
    [[nodiscard]] Time percentile(std::uint32_t per_mille) const;

private:
    boost::histogram::histogram<std::tuple<LogAxis>,
                                boost::histogram::storage_adaptor<std::vector<std::uint64_t>>>
        m_bins;
    std::uint64_t m_count = 0;
    Int128 m_sum = 0;
    Time m_min = Time::never();
    Time m_max{};
};

}  // namespace kvplane
