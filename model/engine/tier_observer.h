// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "model/block/key.h"
#include "model/engine/allocator.h"

namespace kvplane::engine {

/// The place of one copy of a block: the number of its hot record.
struct TierFrame {
    std::uint32_t record = 0;
    bool operator==(const TierFrame&) const = default;
};

/// Hears what becomes of room and copies in a tier, as it happens: for checks. An instrument of the
/// model. It must not call the tier.
class TierObserver {
public:
    virtual ~TierObserver() = default;
    /// Room for a copy that is on its way in.
    virtual void allocated(TierFrame frame, const Extents& extents, std::uint32_t granules) = 0;
    virtual void freed(TierFrame frame, const Extents& extents, std::uint32_t granules) = 0;
    /// The one write of an entry that leads `key` to `frame`, with its move version; of a move
    /// within the tier, away from `from`.
    virtual void committed(const block::BlockKey& key, TierFrame frame,
                           std::optional<TierFrame> from, std::uint64_t version) = 0;
    /// A transfer begins to read a copy.
    virtual void read_begun(TierFrame frame) = 0;
    /// The entry that leads to `frame` has a new move version.
    virtual void version_changed(TierFrame frame, std::uint64_t version) = 0;
    /// All is forgotten.
    virtual void cleared() = 0;
};

}  // namespace kvplane::engine
