// SPDX-License-Identifier: Apache-2.0
/// One queue pair as the card keeps it: submissions to fetch from a ring in host memory or in the
/// card's own, or that arrived through a portal, and a completion ring to post to.
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
    /// A descriptor has arrived through the portal. False where there is no room: it is lost.
    [[nodiscard]] bool portal(const management::QueueSetup& setup, const Intent& intent, Time at);
    /// The host has consumed completions up to `head`.
    void completion_head(std::uint32_t head) { m_completion_head = head; }

    /// How many descriptors may be fetched now: waiting, with a place in flight, and with room kept
    /// for their completions.
    [[nodiscard]] std::uint32_t fetchable(const management::QueueSetup& setup) const;
    /// Sets `count` descriptors, starting at the oldest, as being fetched; they run up to the end
    /// of the ring. Returns how many it is.
    std::uint32_t begin_fetch(const management::QueueSetup& setup, std::uint32_t count);
    [[nodiscard]] bool fetching() const { return m_fetching != 0; }
    /// The byte offset in the ring of the oldest of them.
    [[nodiscard]] std::uint64_t fetch_offset() const {
        return std::uint64_t{m_head} * sizeof(Intent);
    }

    struct Fetched {
        Intent intent;
        Time arrived;        ///< when the card saw its doorbell
        bool stale = false;  ///< it is the one of an earlier pass of the ring
    };
    /// Takes the descriptors of begin_fetch, whose data is there now; `read` fills `bytes` from the
    /// ring at `offset`, and is not asked for those of a portal.
    template <class Read>
    void end_fetch(const management::QueueSetup& setup, Read&& read, std::vector<Fetched>& out) {
        out.resize(m_fetching);
        for (Fetched& fetched : out) {
            if (setup.place == management::QueuePlace::kPortal) {
                fetched.intent = m_portal[m_head];
            } else {
                read(fetch_offset(),
                     std::span(reinterpret_cast<std::uint8_t*>(&fetched.intent), sizeof(Intent)));
                fetched.stale = ((fetched.intent.flags & kOddPass) != 0) != m_odd_pass;
            }
            take(setup, fetched);
        }
        m_fetching = 0;
    }

    /// Where the next completion entry goes.
    [[nodiscard]] Hpa next_completion(const management::QueueSetup& setup) const {
        return {setup.completion_base.value +
                std::uint64_t{m_completion_tail} * sizeof(CompletionEntry)};
    }
    /// Writes a completion entry, which ends its intent's stay in flight.
    void post(const management::QueueSetup& setup, DmaTargetIf& dma, CompletionEntry entry);

private:
    void take(const management::QueueSetup& setup, Fetched& fetched);

    std::uint32_t m_in_flight;
    std::uint32_t m_head = 0;  ///< oldest descriptor not fetched
    std::uint32_t m_tail = 0;
    bool m_odd_pass = false;  ///< of the ring, at m_head
    std::uint32_t m_fetching = 0;
    std::uint32_t m_held = 0;  ///< fetched or being fetched, and not completed
    std::uint32_t m_completion_head = 0;
    std::uint32_t m_completion_tail = 0;
    bool m_phase = true;
    std::vector<Time> m_arrived;   ///< by place in the submission ring
    std::vector<Intent> m_portal;  ///< the same, of a portal
};

}  // namespace kvplane::engine
