// SPDX-License-Identifier: Apache-2.0
/// What happens inside a data plane, as it happens: for checks and traces. Instruments of the
/// model; a card reports none of it. Observers must not call the data plane.
#pragma once

#include <optional>

#include "model/engine/move_job.h"
#include "model/engine/movers.h"

namespace kvplane::engine {

/// Hears how intents come on.
class JobObserver {
public:
    virtual ~JobObserver() = default;
    /// `job` has been fetched, and has its serial number.
    virtual void taken_in(const MoveJob& job) = 0;
    /// Block `block` of `job` crossed by `mover` over [start, end].
    virtual void crossed(const MoveJob& job, Mover mover, std::uint32_t block, Time start,
                         Time end) = 0;
    /// The completion entry of `job` is due now; what it reports was settled at job.settled.
    virtual void completed(const MoveJob& job) = 0;
    /// All intents under way end without a completion.
    virtual void dropped() = 0;
};

}  // namespace kvplane::engine
