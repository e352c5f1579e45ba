// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "model/engine/intent.h"

namespace kvplane::driver {

/// Hears what a host and its card tell each other by the queue pairs, as the host sees it: now().
/// An instrument of the model.
class QueueObserver {
public:
    virtual ~QueueObserver() = default;
    /// A descriptor, its gather list with it, is written to the submission ring of `queue`.
    virtual void posted(std::uint16_t queue, const engine::Intent& intent,
                        std::span<const engine::GatherEntry> list) = 0;
    /// The doorbell of `queue` is rung, with its new tail.
    virtual void rung(std::uint16_t queue, std::uint32_t tail) = 0;
    /// A poll has seen a completion entry of `queue`.
    virtual void completed(std::uint16_t queue, const engine::CompletionEntry& entry) = 0;
};

}  // namespace kvplane::driver
