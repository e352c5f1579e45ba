// SPDX-License-Identifier: Apache-2.0
/// What is behind the CXL.mem front end, and beside it: the time, bytes and poison of its memory by
/// lines of 64 B, and what other traffic of the card does to them.
#pragma once

#include <cstdint>
#include <span>

#include "model/common/units.h"
#include "model/cxl/packer.h"

namespace kvplane::cxl {

class LineMemoryIf {
public:
    virtual ~LineMemoryIf() = default;

    /// Accesses one line at `at` in closed form: returns when its data is there, or its write is
    /// taken. Not called where a memory at line fidelity is bound to MemTarget::memory.
    virtual Time access_line(Time at, Dpa line, bool write) = 0;
    /// Of an access that waits for nothing.
    [[nodiscard]] virtual Time idle_latency() const = 0;
    /// Bytes, in no time. Accesses lie inside one line.
    virtual void read(Dpa address, std::span<std::uint8_t> data) const = 0;
    virtual void write(Dpa address, std::span<const std::uint8_t> data) = 0;

    /// Whether a read of the host meets poison, which the card logs.
    [[nodiscard]] virtual bool read_poison(Dpa line) = 0;
    virtual void set_poison(Dpa line, bool poisoned) = 0;
    /// False where the line belongs to something that the host must not overwrite.
    [[nodiscard]] virtual bool writable(Dpa line) const = 0;
    /// The share of the memory that traffic other than the host's takes now.
    [[nodiscard]] virtual Ratio other_load() const = 0;
    /// How full the queue is that an access of the line would join. Zero for a closed form, whose
    /// waiting times tell.
    [[nodiscard]] virtual Ratio queued(Dpa line) = 0;
    /// How long a message that is ready waits for what the card's DMA has on the wire.
    [[nodiscard]] virtual Time wire_wait(Direction direction) const = 0;
    /// All bytes are zero and all poison is gone, as after power went.
    virtual void clear() = 0;
};

}  // namespace kvplane::cxl
