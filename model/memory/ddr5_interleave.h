// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/memory/ddr5_config.h"

namespace kvplane::memory {

/// Which subchannel a line is in, and which line of it.
class Ddr5Interleave {
public:
    explicit Ddr5Interleave(const Ddr5Config& config)
        : m_run(config.interleave / kLine), m_subchannels(config.subchannels()) {}

    [[nodiscard]] std::uint32_t subchannels() const {
        return static_cast<std::uint32_t>(m_subchannels);
    }
    struct Place {
        std::uint32_t subchannel = 0;
        std::uint64_t line = 0;
    };
    [[nodiscard]] Place place(std::uint64_t line) const {
        const std::uint64_t run = line / m_run;
        return {static_cast<std::uint32_t>(run % m_subchannels),
                run / m_subchannels * m_run + line % m_run};
    }

    /// The line of the memory at a place: the inverse of place().
    [[nodiscard]] std::uint64_t line(const Place& place) const {
        return (place.line / m_run * m_subchannels + place.subchannel) * m_run + place.line % m_run;
    }

private:
    std::uint64_t m_run;  ///< lines
    std::uint64_t m_subchannels;
};

}  // namespace kvplane::memory
