// SPDX-License-Identifier: Apache-2.0
#include "tb/plugin/waves.h"

#include <fmt/format.h>

#include <fstream>

#include "model/common/errors.h"
#include "tb/plugin/dut_set_up.h"

namespace kvplane::rtl {

WavesOption WavesOption::parse(const std::string& text, std::string_view option) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) return {text, {}, Time::never()};
    const std::string window = text.substr(colon + 1);
    const std::size_t comma = window.find(',');
    if (colon == 0 || comma == std::string::npos) {
        throw UserError(fmt::format("{} {}: should be FILE or FILE:from,to", option, text));
    }
    try {
        const WavesOption parsed{text.substr(0, colon), parse_time(window.substr(0, comma)),
                                 parse_time(window.substr(comma + 1))};
        if (parsed.to <= parsed.from) {
            throw UserError(fmt::format("{} {}: the window ends before it begins", option, text));
        }
        return parsed;
    } catch (const std::invalid_argument& error) {
        throw UserError(fmt::format("{} {}: {}", option, text, error.what()));
    }
}

Waves::Waves(const WavesOption& option, Time period, std::uint64_t seed)
    : m_option(option), m_period(period), m_dut(make_waves_dut()) {
    if (!std::ofstream(option.file)) {
        throw UserError(fmt::format("--waves {}: cannot be written", option.file));
    }
    set_up(*m_dut, seed);
    m_dut->open(option.file);
}

Waves::~Waves() = default;

DutOutputs Waves::clock(const DutInputs& inputs) {
    const DutOutputs out = m_dut->settle(inputs);
    const Time at{m_edge * m_period.ps};
    const bool traced = m_option.from <= at && at < m_option.to;
    if (traced) m_dut->dump(at.ps - m_period.ps / 2);
    m_dut->posedge();
    if (traced) m_dut->dump(at.ps);
    ++m_edge;
    return out;
}

void Waves::taken(const index::Request& request, std::int64_t presented, std::int64_t accepted) {
    while (m_edge < presented) {
        if (clock({}).idle) m_edge = presented;
    }
    const DutInputs in{.request_valid = true, .id = m_next_id++, .request = request};
    while (m_edge <= accepted) {
        const bool last = m_edge == accepted;
        if (clock(in).request_ready != last) {
            throw InvariantError(
                fmt::format("waves: a request taken at edge {} is not, or before", accepted));
        }
    }
}

void Waves::finish() {
    constexpr int kMost = 1'000'000;
    for (int i = 0; i < kMost; ++i) {
        if (clock({}).idle) break;
    }
    m_dut->close();
}

}  // namespace kvplane::rtl
