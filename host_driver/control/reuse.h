// SPDX-License-Identifier: Apache-2.0
/// How likely a block is read again soon, from what has been observed so far.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "host_driver/control/eligible_queue.h"
#include "model/common/units.h"

namespace kvplane::control {

/// Reuse intervals by class of block, as histograms over a log axis of milliseconds (four bins an
/// octave). The class of a block is the number of its references so far: one, two, three, or more.
/// Nothing comes from the future; a reference that was never followed by another counts as one
/// whose interval is still longer than any.
class ReusePredictor {
public:
    /// Probabilities are shares of this.
    static constexpr std::uint64_t kCertain = std::uint64_t{1} << 32;

    /// What one block costs a host: 8 B of key, 8 B of time, 8 B of count.
    static constexpr Bytes kBlockBytes{24};

    explicit ReusePredictor(std::size_t blocks) : m_last(blocks), m_references(blocks, 0) {}

    void on_access(BlockIndex block, Time now);

    /// The probability that the block is read within `horizon` from now, given its class and for
    /// how long it has not been read. 0 for a block never read.
    [[nodiscard]] std::uint64_t probability(BlockIndex block, Time now, Time horizon) const;

    /// What a host would spend: the histograms, and an entry for each block seen so far.
    [[nodiscard]] Bytes bytes() const {
        return Bytes{kClasses * (kBins + 1) * 8} + kBlockBytes * m_seen;
    }
    [[nodiscard]] std::uint32_t references(BlockIndex block) const {
        return m_references[block.value];
    }

private:
    static constexpr std::size_t kClasses = 4;
    static constexpr std::size_t kBins = std::size_t{4} * 40;
    struct Class {
        std::array<std::uint64_t, kBins> up_to{};  ///< intervals in a bin or before it
        std::uint64_t references = 0;
    };

    [[nodiscard]] static std::size_t bin(Time interval);
    [[nodiscard]] const Class& class_of(BlockIndex block) const;

    std::uint64_t m_seen = 0;
    std::vector<Time> m_last;
    std::vector<std::uint32_t> m_references;
    std::array<Class, kClasses> m_classes{};
};

}  // namespace kvplane::control
