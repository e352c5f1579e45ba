// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kvplane::control {

enum class Replacement { kLru };
enum class Admission { kNone };
enum class TierEviction { kLru };
enum class Prefetch { kSchedule };
/// When a block of HBM gets its copy in the tier.
enum class Demotion {
    kWriteThrough,  ///< after the step that produced it
    kOnEvict,       ///< when its frame is wanted
};

/// What the host decides, and how.
struct ControlConfig {
    Replacement replacement = Replacement::kLru;
    Admission admission = Admission::kNone;
    TierEviction tier_eviction = TierEviction::kLru;
    Prefetch prefetch = Prefetch::kSchedule;
    Demotion demotion = Demotion::kWriteThrough;
};

}  // namespace kvplane::control
