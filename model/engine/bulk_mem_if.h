// SPDX-License-Identifier: Apache-2.0
/// A long run of CXL.mem reads or writes by a host-side mover (a GPU copy engine behind the root
/// complex), as one flow through the card's link and DRAM.
#pragma once

#include <cstdint>
#include <span>
#include <systemc>

#include "model/common/units.h"

namespace kvplane::engine {

enum class BulkDirection : std::uint8_t { kRead, kWrite };

class BulkClient {
public:
    virtual ~BulkClient() = default;
    /// The copy of `token` held the wire over [start, end]; now is `end`.
    virtual void bulk_done(BulkDirection direction, std::uint32_t token, Time start, Time end) = 0;
    /// The copy of `token` will not end: the card was reset under it, or holds all data back
    /// (viral). May come from within start_bulk.
    virtual void bulk_failed(BulkDirection direction, std::uint32_t token) = 0;
};

class BulkMemIf : public virtual sc_core::sc_interface {
public:
    /// Registers the one mover of a direction and what it can take or give, before its first copy.
    virtual void open_bulk(BulkDirection direction, Rate cap, BulkClient& client) = 0;
    /// Starts a copy of `size` bytes now; copies of one direction run one after another.
    virtual void start_bulk(BulkDirection direction, std::uint32_t token, Bytes size) = 0;
    /// The bytes behind a copy, for runs that carry them.
    virtual void read(Dpa address, std::span<std::uint8_t> data) const = 0;
    virtual void write(Dpa address, std::span<const std::uint8_t> data) = 0;
};

}  // namespace kvplane::engine
