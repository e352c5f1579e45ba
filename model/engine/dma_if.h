// SPDX-License-Identifier: Apache-2.0
/// What the card's DMA reaches outside the card: host memory (rings, gather lists) and windows
/// of device memory. Calls happen at the time at which the data is there; the card has charged the
/// way. Data arguments are empty in runs that carry sizes only.
#pragma once

#include <cstdint>
#include <span>
#include <systemc>

#include "model/common/units.h"

namespace kvplane::engine {

class DmaTargetIf : public virtual sc_core::sc_interface {
public:
    /// Reads host memory.
    virtual void read_host(Hpa address, std::span<std::uint8_t> data) = 0;
    /// Writes host memory.
    virtual void write_host(Hpa address, std::span<const std::uint8_t> data) = 0;
    /// Payload arrives in device memory. False where the device refuses it: the write is posted, so
    /// that the card hears of that only through its fence.
    virtual bool write_device(Hpa address, Bytes size, std::span<const std::uint8_t> data) = 0;
    /// Payload leaves device memory. False where the device gives none.
    virtual bool read_device(Hpa address, Bytes size, std::span<std::uint8_t> data) = 0;
};

/// A port that may stay unbound: a card driven by a copy engine never uses its DMA.
using DmaPort = sc_core::sc_port<DmaTargetIf, 1, sc_core::SC_ZERO_OR_MORE_BOUND>;

}  // namespace kvplane::engine
