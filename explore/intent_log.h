// SPDX-License-Identifier: Apache-2.0
/// `kvplane run --intents`: what host and card tell each other by the queue pairs, and how intents
/// come on inside the card, in order of time. Little-endian:
///
///     16 B   kIntentLogMagic
///     then records, each:
///     8 B    time, ps
///     1 B    IntentRecord
///     1 B    IntentEvent; 0 unless the record is one
///     2 B    queue
///     4 B    bytes that follow:
///            kIntent:     the descriptor, 64 B; with a gather list its entries, 24 B each
///            kCompletion: the completion entry, 16 B
///            kEvent:      id (4 B), detail (4 B), from and until (ps, 8 B each)
#pragma once

#include <cstdint>
#include <string_view>

#include "explore/simulation_file.h"
#include "host_driver/driver/queue_observer.h"
#include "model/engine/plane_observer.h"

namespace kvplane::explore {

inline constexpr std::string_view kIntentLogMagic = "kvplane intents1";
static_assert(kIntentLogMagic.size() == 16);

enum class IntentRecord : std::uint8_t {
    kIntent = 1,      ///< the host has written a descriptor
    kCompletion = 2,  ///< a poll of the host has seen an entry
    kEvent = 3,
};

enum class IntentEvent : std::uint8_t {
    kNone = 0,
    kDoorbell = 1,  ///< the host rings; detail: the new tail
    kTakenIn = 2,   ///< the card has the descriptor of intent `id`
    kCrossed = 3,   ///< block `detail` of intent `id` crossed the link from `from` until `until`
    kDropped = 4,   ///< all intents under way end without a completion
};
inline constexpr auto kLastIntentEvent = IntentEvent::kDropped;

struct IntentRecordHead {
    std::uint64_t time_ps = 0;
    IntentRecord record = IntentRecord::kIntent;
    IntentEvent event = IntentEvent::kNone;
    std::uint16_t queue = 0;
    std::uint32_t size = 0;
};
static_assert(sizeof(IntentRecordHead) == 16);

struct IntentEventBody {
    std::uint32_t id = 0;
    std::uint32_t detail = 0;
    std::uint64_t from_ps = 0;
    std::uint64_t until_ps = 0;
};
static_assert(sizeof(IntentEventBody) == 24);

class IntentLog final : public driver::QueueObserver, public engine::JobObserver {
public:
    /// Throws UserError where the file cannot be written.
    explicit IntentLog(const std::string& path);

    void posted(std::uint16_t queue, const engine::Intent& intent,
                std::span<const engine::GatherEntry> list) override;
    void rung(std::uint16_t queue, std::uint32_t tail) override;
    void completed(std::uint16_t queue, const engine::CompletionEntry& entry) override;

    void taken_in(const engine::MoveJob& job) override;
    void crossed(const engine::MoveJob& job, engine::Mover mover, std::uint32_t block, Time start,
                 Time end) override;
    void completed(const engine::MoveJob&) override {}
    void dropped() override;

    // Both throw UserError.
    void check() const { m_file.check(); }
    void finish() { m_file.finish(); }

private:
    void head(IntentRecord record, IntentEvent event, std::uint16_t queue, std::size_t size);
    void event(IntentEvent event, std::uint16_t queue, const IntentEventBody& body);
    template <class T>
    void write(const T& value) {
        m_file.write({reinterpret_cast<const char*>(&value), sizeof(T)});
    }

    SimulationFile m_file;
};

}  // namespace kvplane::explore
