// SPDX-License-Identifier: Apache-2.0
/// The lookup engine as the resident index drives it: requests in, answers with their times. Behind
/// it are the TLM form (TimedTable), and outside of model/ the RTL and both in lockstep.
#pragma once

#include <cstdint>
#include <optional>

#include "model/common/units.h"
#include "model/index/request.h"

namespace kvplane::index {

struct TimedAnswer {
    Answer answer;
    Time issued;  ///< the accepting edge
    Time done;    ///< the answer is there
};

class TableEngine {
public:
    virtual ~TableEngine() = default;

    /// Submits a request at `at`; requests are accepted in the order of the calls.
    virtual TimedAnswer submit(const Request& request, Time at) = 0;
    /// Lets what is under way end. Throws InvariantError where an answer turns out to be wrong.
    virtual void finish() = 0;
    /// Forgets every entry and what was under way. Events stay counted.
    virtual void clear() = 0;

    /// From the accepting edge to the answer.
    [[nodiscard]] virtual std::uint32_t latency_cycles() const = 0;
    /// Entries it holds.
    [[nodiscard]] virtual std::uint64_t size() const = 0;
    /// The answer to a LOOKUP of `key`, without one.
    [[nodiscard]] virtual Answer peek(std::uint64_t key) = 0;
    /// The key of an entry whose EVICT would make room for `key`: in the buckets of `key`, never
    /// pinned nor moving. Nothing where there is none, or a free slot.
    [[nodiscard]] virtual std::optional<std::uint64_t> victim_for(std::uint64_t key) = 0;
};

}  // namespace kvplane::index
