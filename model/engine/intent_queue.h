// SPDX-License-Identifier: Apache-2.0
/// One queue pair as the card keeps it: a submission ring to fetch from and a completion ring to
/// post to, both in host memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/engine/dma_if.h"
#include "model/engine/intent.h"
#include "model/management/queue_registers.h"

namespace kvplane::engine {

class IntentQueue {
public:
    /// At most `in_flight` intents are held by the card at a time.
    explicit IntentQueue(std::uint32_t in_flight) : m_in_flight(in_flight) {}

    /// The host's tail moved to `tail` and the card saw it at `at`.
    void submission_tail(const management::QueueSetup& setup, std::uint32_t tail, Time at);
    /// The host has consumed completions up to `head`.
    void completion_head(std::uint32_t head) { m_completion_head = head; }

    /// How many descriptors may be fetched now: waiting, with a place in flight, and with room kept
    /// for their completions.
    [[nodiscard]] std::uint32_t fetchable(const management::QueueSetup& setup) const;
    /// Sets `count` descriptors, starting at the oldest, as being fetched; they run up to the end
    /// of the ring. Returns how many it is.
    std::uint32_t begin_fetch(const management::QueueSetup& setup, std::uint32_t count);
    [[nodiscard]] bool fetching() const { return m_fetching != 0; }

    struct Fetched {
        Intent intent;
        Time arrived;  ///< when the card saw its doorbell
    };
    /// Reads the descriptors of begin_fetch, whose data is there now.
    void end_fetch(const management::QueueSetup& setup, DmaTargetIf& dma,
                   std::vector<Fetched>& out);

    /// Writes a completion entry, which ends its intent's stay in flight.
    void post(const management::QueueSetup& setup, DmaTargetIf& dma, CompletionEntry entry);

private:
    std::uint32_t m_in_flight;
    std::uint32_t m_head = 0;  ///< oldest descriptor not fetched
    std::uint32_t m_tail = 0;
    std::uint32_t m_fetching = 0;
    std::uint32_t m_held = 0;  ///< fetched or being fetched, and not completed
    std::uint32_t m_completion_head = 0;
    std::uint32_t m_completion_tail = 0;
    bool m_phase = true;
    std::vector<Time> m_arrived;  ///< by place in the submission ring
};

}  // namespace kvplane::engine
