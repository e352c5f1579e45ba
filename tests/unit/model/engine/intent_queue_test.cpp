// SPDX-License-Identifier: Apache-2.0
#include "model/engine/intent_queue.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "model/common/errors.h"
#include "model/common/random.h"

namespace kvplane::engine {
namespace {

constexpr std::uint64_t kSubmissions = 0x10000;
constexpr std::uint64_t kCompletions = 0x20000;

/// Two rings in host memory, and the host's side of both.
class Rings final : public DmaTargetIf {
public:
    explicit Rings(std::uint32_t entries)
        : setup{.submission_base = {kSubmissions},
                .completion_base = {kCompletions},
                .entries = entries,
                .enabled = true},
          submissions(entries),
          completions(entries) {}

    void read_host(Hpa address, std::span<std::uint8_t> data) override {
        std::memcpy(data.data(), &submissions.at((address.value - kSubmissions) / sizeof(Intent)),
                    data.size());
    }
    void write_host(Hpa address, std::span<const std::uint8_t> data) override {
        const std::size_t place = (address.value - kCompletions) / sizeof(CompletionEntry);
        EXPECT_FALSE(unread(place)) << "an entry that the host has not read was overwritten";
        std::memcpy(&completions.at(place), data.data(), data.size());
    }
    bool write_device(Hpa, Bytes, std::span<const std::uint8_t>) override { return false; }
    bool read_device(Hpa, Bytes, std::span<std::uint8_t>) override { return false; }
    /// What the card reads of the submission ring.
    [[nodiscard]] auto reader() {
        return [this](std::uint64_t offset, std::span<std::uint8_t> data) {
            read_host({setup.submission_base.value + offset}, data);
        };
    }

    /// Writes an intent and moves the tail.
    void submit(std::uint32_t id) {
        submissions[tail] = {.flags = odd_pass ? kOddPass : std::uint8_t{0}, .id = id};
        tail = (tail + 1) % setup.entries;
        if (tail == 0) odd_pass = !odd_pass;
    }
    /// The next completion that the phase bit shows, or nothing.
    std::optional<CompletionEntry> poll() {
        if (!unread(head)) return std::nullopt;
        const CompletionEntry entry = completions[head];
        head = (head + 1) % setup.entries;
        if (head == 0) phase = !phase;
        return entry;
    }

    management::QueueSetup setup;
    std::vector<Intent> submissions;
    std::vector<CompletionEntry> completions;
    std::uint32_t tail = 0;
    std::uint32_t head = 0;
    bool phase = true;
    bool odd_pass = false;

private:
    /// Whether the entry at `place` has the phase of the pass in which the host will read it.
    [[nodiscard]] bool unread(std::size_t place) const {
        const bool shown = (completions[place].phase_and_flags & kPhase) != 0;
        return shown == (place >= head ? phase : !phase);
    }
};

std::vector<std::uint32_t> fetch(IntentQueue& queue, Rings& rings, std::uint32_t count) {
    EXPECT_EQ(queue.begin_fetch(rings.setup, count), count);
    EXPECT_TRUE(queue.fetching());
    EXPECT_EQ(queue.fetchable(rings.setup), 0U) << "one fetch at a time";
    std::vector<IntentQueue::Fetched> fetched;
    queue.end_fetch(rings.setup, rings.reader(), fetched);
    std::vector<std::uint32_t> ids;
    for (const IntentQueue::Fetched& f : fetched) ids.push_back(f.intent.id);
    return ids;
}

TEST(IntentQueueTest, FetchesUpToTheEndOfTheRingThenFromItsStart) {
    Rings rings(8);
    IntentQueue queue(32);
    EXPECT_EQ(queue.fetchable(rings.setup), 0U);
    for (std::uint32_t id = 0; id < 6; ++id) rings.submit(id);
    queue.submission_tail(rings.setup, rings.tail, {});
    EXPECT_EQ(fetch(queue, rings, 6), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
    for (std::uint32_t id = 0; id < 6; ++id) queue.post(rings.setup, rings, {.id = id});
    while (rings.poll()) {
    }
    queue.completion_head(rings.head);
    for (std::uint32_t id = 6; id < 12; ++id) rings.submit(id);
    queue.submission_tail(rings.setup, rings.tail, {});
    EXPECT_EQ(queue.fetchable(rings.setup), 6U);
    EXPECT_EQ(queue.begin_fetch(rings.setup, 6), 2U);
    std::vector<IntentQueue::Fetched> fetched;
    queue.end_fetch(rings.setup, rings.reader(), fetched);
    ASSERT_EQ(fetched.size(), 2U);
    EXPECT_EQ(fetched[1].intent.id, 7U);
    EXPECT_EQ(fetch(queue, rings, 4), (std::vector<std::uint32_t>{8, 9, 10, 11}));
}

TEST(IntentQueueTest, RemembersWhichDoorbellBroughtEach) {
    Rings rings(8);
    IntentQueue queue(32);
    rings.submit(0);
    queue.submission_tail(rings.setup, rings.tail, Time::from_ns(5));
    rings.submit(1);
    rings.submit(2);
    queue.submission_tail(rings.setup, rings.tail, Time::from_ns(9));
    queue.submission_tail(rings.setup, rings.tail, Time::from_ns(11));  // nothing new
    ASSERT_EQ(queue.begin_fetch(rings.setup, 3), 3U);
    std::vector<IntentQueue::Fetched> fetched;
    queue.end_fetch(rings.setup, rings.reader(), fetched);
    EXPECT_EQ(fetched[0].arrived, Time::from_ns(5));
    EXPECT_EQ(fetched[1].arrived, Time::from_ns(9));
    EXPECT_EQ(fetched[2].arrived, Time::from_ns(9));
}

TEST(IntentQueueTest, HoldsNoMoreThanItsBoundInFlight) {
    Rings rings(16);
    IntentQueue queue(3);
    for (std::uint32_t id = 0; id < 10; ++id) rings.submit(id);
    queue.submission_tail(rings.setup, rings.tail, {});
    EXPECT_EQ(queue.fetchable(rings.setup), 3U);
    (void)fetch(queue, rings, 2);
    EXPECT_EQ(queue.fetchable(rings.setup), 1U);
    (void)fetch(queue, rings, 1);
    EXPECT_EQ(queue.fetchable(rings.setup), 0U);
    queue.post(rings.setup, rings, {.id = 1});
    EXPECT_EQ(queue.fetchable(rings.setup), 1U);
}

TEST(IntentQueueTest, KeepsRoomForTheCompletionOfAllItFetches) {
    Rings rings(4);  // three entries are usable: a full ring is not an empty one
    IntentQueue queue(32);
    for (std::uint32_t id = 0; id < 3; ++id) rings.submit(id);
    queue.submission_tail(rings.setup, rings.tail, {});
    EXPECT_EQ(fetch(queue, rings, 3).size(), 3U);
    for (std::uint32_t id = 3; id < 6; ++id) rings.submit(id);
    queue.submission_tail(rings.setup, rings.tail, {});
    EXPECT_EQ(queue.fetchable(rings.setup), 0U) << "three completions are to come";
    for (std::uint32_t id = 0; id < 3; ++id) queue.post(rings.setup, rings, {.id = id});
    EXPECT_EQ(queue.fetchable(rings.setup), 0U) << "the host has read none of them";
    (void)rings.poll();
    queue.completion_head(rings.head);
    EXPECT_EQ(queue.fetchable(rings.setup), 1U);
}

TEST(IntentQueueTest, ADescriptorOfAnEarlierPassIsStale) {
    Rings rings(4);
    IntentQueue queue(32);
    for (std::uint32_t id = 0; id < 3; ++id) rings.submit(id);
    queue.submission_tail(rings.setup, rings.tail, {});
    EXPECT_EQ(fetch(queue, rings, 3).size(), 3U);
    for (std::uint32_t id = 0; id < 3; ++id) queue.post(rings.setup, rings, {.id = id});
    while (rings.poll()) {
    }
    queue.completion_head(rings.head);
    rings.submit(3);
    queue.submission_tail(rings.setup, 1, {});  // overtakes the write of the fifth
    ASSERT_EQ(queue.begin_fetch(rings.setup, 2), 1U);
    std::vector<IntentQueue::Fetched> fetched;
    queue.end_fetch(rings.setup, rings.reader(), fetched);
    EXPECT_FALSE(fetched[0].stale);
    ASSERT_EQ(queue.begin_fetch(rings.setup, 1), 1U);
    queue.end_fetch(rings.setup, rings.reader(), fetched);
    EXPECT_TRUE(fetched[0].stale);
    EXPECT_EQ(fetched[0].intent.id, 0U) << "the one of the first pass";
}

TEST(IntentQueueTest, APortalTakesDescriptorsInOrderUntilItIsFull) {
    Rings rings(4);
    rings.setup.place = management::QueuePlace::kPortal;
    IntentQueue queue(32);
    for (std::uint32_t id = 0; id < 3; ++id) {
        EXPECT_TRUE(queue.portal(rings.setup, {.id = id}, Time::from_ns(id)));
    }
    EXPECT_FALSE(queue.portal(rings.setup, {.id = 3}, Time::from_ns(3)));
    ASSERT_EQ(queue.begin_fetch(rings.setup, queue.fetchable(rings.setup)), 3U);
    std::vector<IntentQueue::Fetched> fetched;
    queue.end_fetch(rings.setup, rings.reader(), fetched);
    for (std::uint32_t id = 0; id < 3; ++id) {
        EXPECT_EQ(fetched[id].intent.id, id);
        EXPECT_EQ(fetched[id].arrived, Time::from_ns(id));
        EXPECT_FALSE(fetched[id].stale);
    }
    EXPECT_TRUE(queue.portal(rings.setup, {.id = 3}, {}));
    EXPECT_EQ(queue.fetchable(rings.setup), 0U) << "three completions are to come";
}

TEST(IntentQueueTest, ADisabledQueueFetchesNothing) {
    Rings rings(4);
    IntentQueue queue(32);
    rings.submit(0);
    queue.submission_tail(rings.setup, rings.tail, {});
    rings.setup.enabled = false;
    EXPECT_EQ(queue.fetchable(rings.setup), 0U);
}

TEST(IntentQueueTest, ACompletionWithoutAnIntentIsABrokenInvariant) {
    Rings rings(4);
    IntentQueue queue(32);
    EXPECT_THROW(queue.post(rings.setup, rings, {}), InvariantError);
}

TEST(IntentQueueTest, RandomTrafficLosesAndOverwritesNothing) {
    for (const std::uint32_t entries : {2U, 4U, 16U}) {
        Rings rings(entries);
        IntentQueue queue(5);
        RandomStream random(entries, "intent queue");
        std::uint32_t submitted = 0;
        std::uint32_t fetched_next = 0;
        std::deque<std::uint32_t> in_card;
        std::vector<std::uint32_t> order;
        std::uint32_t completed = 0;
        while (completed < 5'000) {
            switch (random.uniform(4)) {
                case 0:
                    if (submitted - fetched_next == entries - 1) break;
                    rings.submit(submitted++);
                    queue.submission_tail(rings.setup, rings.tail, {});
                    break;
                case 1: {
                    const std::uint32_t room = queue.fetchable(rings.setup);
                    if (room == 0) break;
                    (void)queue.begin_fetch(rings.setup,
                                            static_cast<std::uint32_t>(random.uniform(1, room)));
                    std::vector<IntentQueue::Fetched> got;
                    queue.end_fetch(rings.setup, rings.reader(), got);
                    for (const IntentQueue::Fetched& f : got) {
                        ASSERT_EQ(f.intent.id, fetched_next++);
                        ASSERT_FALSE(f.stale);
                        in_card.push_back(f.intent.id);
                    }
                    ASSERT_LE(in_card.size(), 5U);
                    break;
                }
                case 2:
                    if (in_card.empty()) break;
                    queue.post(rings.setup, rings, {.id = in_card.front()});
                    order.push_back(in_card.front());
                    in_card.pop_front();
                    break;
                default:
                    if (const auto entry = rings.poll()) {
                        ASSERT_EQ(entry->id, order[completed++]);
                        if (random.uniform(2) == 0) queue.completion_head(rings.head);
                    } else {
                        queue.completion_head(rings.head);
                    }
                    break;
            }
        }
    }
}

}  // namespace
}  // namespace kvplane::engine
