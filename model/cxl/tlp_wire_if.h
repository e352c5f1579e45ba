// SPDX-License-Identifier: Apache-2.0
/// CXL.io on a wire whose flits are formed one by one, beside CXL.mem.
#pragma once

#include "model/common/units.h"
#include "model/cxl/packer.h"
#include "model/cxl/tlp.h"

namespace kvplane::cxl {

class TlpListener {
public:
    virtual ~TlpListener() = default;
    /// A TLP has arrived whole, now, and its receiver has drained it. May send more.
    virtual void tlp_arrived(Direction direction, const Tlp& tlp) = 0;
};

class TlpWireIf {
public:
    virtual ~TlpWireIf() = default;
    /// Queues a TLP now. Those of one direction and kind leave in order.
    virtual void send_tlp(Direction direction, const Tlp& tlp) = 0;
    /// One listener, before the first TLP.
    virtual void hear_tlps(TlpListener& listener) = 0;
};

}  // namespace kvplane::cxl
