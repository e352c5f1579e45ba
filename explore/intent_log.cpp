// SPDX-License-Identifier: Apache-2.0
#include "explore/intent_log.h"

#include "model/common/sim_time.h"

namespace kvplane::explore {
namespace {

std::uint64_t ps(Time time) { return static_cast<std::uint64_t>(time.ps); }

}  // namespace

IntentLog::IntentLog(const std::string& path) : m_file(path) { m_file.write(kIntentLogMagic); }

void IntentLog::head(IntentRecord record, IntentEvent event, std::uint16_t queue,
                     std::size_t size) {
    write(IntentRecordHead{ps(now()), record, event, queue, static_cast<std::uint32_t>(size)});
}

void IntentLog::event(IntentEvent event, std::uint16_t queue, const IntentEventBody& body) {
    head(IntentRecord::kEvent, event, queue, sizeof(body));
    write(body);
}

void IntentLog::posted(std::uint16_t queue, const engine::Intent& intent,
                       std::span<const engine::GatherEntry> list) {
    head(IntentRecord::kIntent, IntentEvent::kNone, queue, sizeof(intent) + list.size_bytes());
    write(intent);
    m_file.write({reinterpret_cast<const char*>(list.data()), list.size_bytes()});
}

void IntentLog::rung(std::uint16_t queue, std::uint32_t tail) {
    event(IntentEvent::kDoorbell, queue, {.detail = tail});
}

void IntentLog::completed(std::uint16_t queue, const engine::CompletionEntry& entry) {
    head(IntentRecord::kCompletion, IntentEvent::kNone, queue, sizeof(entry));
    write(entry);
}

void IntentLog::taken_in(const engine::MoveJob& job) {
    event(IntentEvent::kTakenIn, job.queue, {.id = job.intent.id});
}

void IntentLog::crossed(const engine::MoveJob& job, engine::Mover, std::uint32_t block, Time start,
                        Time end) {
    event(IntentEvent::kCrossed, job.queue, {job.intent.id, block, ps(start), ps(end)});
}

void IntentLog::dropped() { event(IntentEvent::kDropped, 0, {}); }

}  // namespace kvplane::explore
