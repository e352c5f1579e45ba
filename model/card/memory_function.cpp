// SPDX-License-Identifier: Apache-2.0
#include "model/card/memory_function.h"

namespace kvplane::card {
namespace {

cxl::MemTargetConfig with_decoders(const MemoryFunctionConfig& config) {
    cxl::MemTargetConfig mem = config.mem;
    mem.hdm.capacity = config.management.mailbox.capacity;
    mem.hdm.back_invalidate = mem.link.flit != cxl::FlitLayout::k68B;
    return mem;
}

}  // namespace

MemoryFunction::MemoryFunction(sc_core::sc_module_name name, const MemoryFunctionConfig& config,
                               cxl::LineMemoryIf& memory)
    : sc_module(name),
      m_events(config.management.mailbox.event_records),
      m_memory(memory, m_poison),
      mem("mem", with_decoders(config), m_memory),
      management("management", config.management, mem.core().decoders(), m_memory, m_poison,
                 m_events) {
    management.listen(*this);
}

void MemoryFunction::reset_done(management::Reset kind) {
    // An FLR must leave CXL.mem alone; everything else takes the link down.
    if (kind != management::Reset::kFunction) mem.reset();
}

}  // namespace kvplane::card
