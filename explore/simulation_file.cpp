// SPDX-License-Identifier: Apache-2.0
#include "explore/simulation_file.h"

#include <systemc>

#include "model/common/errors.h"

namespace kvplane::explore {

void SimulationFile::write(std::string_view text) {
    if (!m_error.empty()) return;
    m_buffer += text;
    if (m_buffer.size() < kBuffer) return;
    try {
        m_file.write(m_buffer);
    } catch (const UserError& error) {
        m_error = error.what();
        sc_core::sc_pause();
    }
    m_buffer.clear();
}

void SimulationFile::check() const {
    if (!m_error.empty()) throw UserError(m_error);
}

void SimulationFile::finish() {
    check();
    m_file.write(m_buffer);
    m_buffer.clear();
    m_file.keep();
}

}  // namespace kvplane::explore
