// SPDX-License-Identifier: Apache-2.0
/// The memory behind the CXL.mem front end: its time, its bytes and its poison, by lines of 64 B.
#pragma once

#include <cstdint>
#include <span>

#include "model/common/units.h"

namespace kvplane::cxl {

class LineMemoryIf {
public:
    virtual ~LineMemoryIf() = default;

    /// Accesses one line at `at`: returns when its data is there, or its write is taken.
    virtual Time access_line(Time at, Dpa line, bool write) = 0;
    /// Bytes, in no time. Accesses lie inside one line.
    virtual void read(Dpa address, std::span<std::uint8_t> data) const = 0;
    virtual void write(Dpa address, std::span<const std::uint8_t> data) = 0;

    [[nodiscard]] virtual bool poisoned(Dpa line) const = 0;
    virtual void set_poison(Dpa line, bool poisoned) = 0;
    /// False where the line belongs to something that the host must not overwrite.
    [[nodiscard]] virtual bool writable(Dpa line) const = 0;
    /// The share of the memory that traffic other than the host's takes now.
    [[nodiscard]] virtual Ratio other_load() const = 0;
    /// All bytes are zero and all poison is gone, as after power went.
    virtual void clear() = 0;
};

}  // namespace kvplane::cxl
