// SPDX-License-Identifier: Apache-2.0
#include "explore/choices.h"

namespace kvplane::explore {

Form<driver::Mechanism> mechanism_form() {
    return choice<driver::Mechanism>(
        {{"card", driver::Mechanism::kCard}, {"copy-engine", driver::Mechanism::kCopyEngine}});
}

Form<driver::QueuePlace> queue_place_form() {
    return choice<driver::QueuePlace>({{"host-memory", driver::QueuePlace::kHostMemory},
                                       {"hdm", driver::QueuePlace::kHdm},
                                       {"portal", driver::QueuePlace::kPortal}});
}

Form<engine::Fence> fence_form() {
    return choice<engine::Fence>({{"in_band_flag", engine::Fence::kInBandFlag},
                                  {"read_flush", engine::Fence::kReadFlush},
                                  {"none", engine::Fence::kNone}});
}

Form<index::Implementation> implementation_form() {
    return choice<index::Implementation>({{"tlm", index::Implementation::kTlm},
                                          {"rtl", index::Implementation::kRtl},
                                          {"lockstep", index::Implementation::kLockstep}});
}

}  // namespace kvplane::explore
