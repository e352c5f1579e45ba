// SPDX-License-Identifier: Apache-2.0
/// The card as a plain CXL memory device: the CXL.mem front end, its management, and the poison
/// between them, over any memory.
#pragma once

#include <systemc>

#include "model/cxl/mem_target.h"
#include "model/management/event_log.h"
#include "model/management/management_target.h"
#include "model/management/poison_list.h"

namespace kvplane::card {

struct MemoryFunctionConfig {
    cxl::MemTargetConfig mem;
    management::ManagementConfig management;
};

/// Capacity and back-invalidate of the decoders follow from the rest of the config.
class MemoryFunction final : public sc_core::sc_module, private management::ManagementListener {
public:
    /// `memory` must outlive it.
    MemoryFunction(sc_core::sc_module_name name, const MemoryFunctionConfig& config,
                   cxl::LineMemoryIf& memory);

private:
    // The order is that of construction: each part refers to those before it.
    management::PoisonList m_poison;
    management::EventLog m_events;
    management::PoisonedMemory m_memory;

public:
    /// CXL.mem of the host.
    cxl::MemTarget mem;
    /// Configuration space and MMIO of the memory function.
    management::ManagementTarget management;

    /// Resets the card: what is under way is answered, and what effect_of() does not keep is gone.
    void reset(management::Reset kind) { management.reset(kind); }

    [[nodiscard]] const management::PoisonList& poison() const { return m_poison; }
    [[nodiscard]] const management::EventLog& events() const { return m_events; }

private:
    void media_ready(bool ready) override { mem.core().set_media_ready(ready); }
    void reset_done(management::Reset kind) override;
};

}  // namespace kvplane::card
