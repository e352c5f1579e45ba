// SPDX-License-Identifier: Apache-2.0
/// SystemC simulates once per kernel: what simulates many small set-ups takes a kernel for each.
#pragma once

#include <systemc>

namespace kvplane::explore {

/// A kernel of its own for as long as this lives. Modules made meanwhile must be gone before it is.
class Kernel {
public:
    Kernel() : m_outer(sc_core::sc_curr_simcontext) { enter(new sc_core::sc_simcontext()); }
    ~Kernel() {
        delete sc_core::sc_curr_simcontext;
        enter(m_outer);
    }
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;

private:
    static void enter(sc_core::sc_simcontext* context) {
        sc_core::sc_curr_simcontext = context;
        sc_core::sc_default_global_context = context;
    }

    sc_core::sc_simcontext* m_outer;
};

}  // namespace kvplane::explore
