// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_driver/control/admission.h"
#include "host_driver/control/policy.h"
#include "host_driver/control/store_rule.h"

namespace kvplane::control {

enum class Prefetch { kSchedule };
/// When a block of HBM gets its copy in the tier.
enum class Demotion {
    kWriteThrough,  ///< after the step that produced it
    kOnEvict,       ///< when its frame is wanted
    /// In the background, while few frames are free; what leaves before is written as it leaves.
    kLazy,
    /// After the step with the use that makes `store` choose it; what is chosen only as it leaves,
    /// then.
    kSelective,
};

/// What the host decides, and how.
struct ControlConfig {
    PolicySpec replacement{};
    AdmissionSpec admission{};
    /// Which tier copy goes when the tier is full. Being stored counts as a use.
    PolicySpec tier_eviction{};
    Prefetch prefetch = Prefetch::kSchedule;
    Demotion demotion = Demotion::kWriteThrough;
    Ratio lazy_below{250'000};      ///< of kLazy: the share of free frames below which it writes
    std::uint32_t lazy_batch = 64;  ///< of kLazy: blocks a step
    StoreSpec store{};
};

}  // namespace kvplane::control
