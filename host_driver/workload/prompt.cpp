// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/prompt.h"

#include <cmath>

namespace kvplane::workload {

PromptWriter::PromptWriter(RawTrace& trace, std::uint32_t shared_tokens) : m_trace(trace) {
    m_shared.resize(shared_tokens / trace.tokens_per_id);
    for (std::uint64_t& id : m_shared) id = m_next_id++;
}

std::uint32_t PromptWriter::append(RawRequest request, Context& context) {
    if (context.full.empty()) context.full = m_shared;
    const std::uint32_t full = request.input_tokens / m_trace.tokens_per_id;
    const bool rest = request.input_tokens % m_trace.tokens_per_id != 0;
    while (context.full.size() < full) context.full.push_back(m_next_id++);
    std::vector<std::uint64_t>& ids = m_trace.ids;
    request.first_id = ids.size();
    request.id_count = full + (rest ? 1 : 0);
    ids.insert(ids.end(), context.full.begin(), context.full.begin() + full);
    if (rest) {
        if (context.rest_end != request.input_tokens) {
            context.rest_end = request.input_tokens;
            context.rest_id = m_next_id++;
        }
        ids.push_back(context.rest_id);
    }
    m_trace.requests.push_back(request);
    return static_cast<std::uint32_t>(m_trace.requests.size() - 1);
}

Time mean_gap(double requests_per_second) { return {std::llround(1e12 / requests_per_second)}; }

void check_stamp(std::string_view generator, Time stamp) {
    if (stamp <= kLatestStamp) return;
    throw UserError(fmt::format("{}: the workload lasts more than 45 days", generator));
}

}  // namespace kvplane::workload
