// SPDX-License-Identifier: Apache-2.0
/// Workloads written by hand, request by request.
#pragma once

#include <initializer_list>
#include <vector>

#include "host_driver/workload/request.h"

namespace kvplane::test {

/// Blocks have 16 tokens. Block n is whatever the first chain that names n says: its parent is the
/// block before it there.
class TinyWorkload {
public:
    /// A request whose chain is `blocks`, root first, and whose prompt has `input` tokens.
    TinyWorkload& add(Time arrival, std::initializer_list<std::uint32_t> blocks,
                      std::uint32_t input, std::uint32_t output) {
        workload::Request request{.arrival = arrival,
                                  .input_tokens = input,
                                  .output_tokens = output,
                                  .first_ref = m_workload.refs.size(),
                                  .block_count = static_cast<std::uint32_t>(blocks.size())};
        m_workload.requests.push_back(request);
        block::BlockIndex parent = block::kNoBlock;
        std::uint32_t depth = 0;
        for (const std::uint32_t b : blocks) {
            if (b >= m_workload.blocks.size()) {
                m_workload.blocks.resize(b + 1);
                const block::PrefixHash prefix = block::extend({}, b);
                m_workload.blocks[b] = {block::make_key(prefix, {}, 0), parent, depth};
            }
            m_workload.refs.push_back({b});
            parent = {b};
            ++depth;
        }
        return *this;
    }
    /// The same without time: every token of the chain is prompt.
    TinyWorkload& read(std::initializer_list<std::uint32_t> blocks) {
        return add(Time::from_s(static_cast<std::int64_t>(m_workload.requests.size())), blocks,
                   static_cast<std::uint32_t>(blocks.size()) * 16, 1);
    }
    [[nodiscard]] workload::Workload make() const { return m_workload; }

private:
    workload::Workload m_workload;
};

}  // namespace kvplane::test
