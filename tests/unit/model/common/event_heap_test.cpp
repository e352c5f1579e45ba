// SPDX-License-Identifier: Apache-2.0
#include "model/common/event_heap.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "model/common/random.h"
#include "tests/support/systemc_test.h"

namespace kvplane {
namespace {

struct Heard {
    std::int64_t at;
    int what;
    bool operator==(const Heard&) const = default;
};

/// A module as those of the model are: one method, one heap.
class Listener final : public sc_core::sc_module {
public:
    explicit Listener(sc_core::sc_module_name name) : sc_module(name) {
        SC_HAS_PROCESS(Listener);
        SC_METHOD(run);
        sensitive << heap.event();
        dont_initialize();
    }

    EventHeap<int> heap{"heap"};
    std::vector<Heard> heard;
    std::uint64_t wakes = 0;
    std::function<void(int)> on_event;

private:
    void run() {
        ++wakes;
        int what = 0;
        while (heap.pop_due(what)) {
            heard.push_back({now().ps, what});
            if (on_event) on_event(what);
        }
    }
};

class EventHeapTest : public test::SystemCTest {
protected:
    Listener m_listener{"listener"};
    void drain() {
        if (sc_core::sc_pending_activity()) sc_core::sc_start();
    }
};

TEST_F(EventHeapTest, FiresInOrderOfTimeWhateverTheOrderOfScheduling) {
    for (const int at : {50, 10, 30, 20, 40}) m_listener.heap.schedule(Time::from_ns(at), at);
    drain();
    EXPECT_EQ(
        m_listener.heard,
        (std::vector<Heard>{{10'000, 10}, {20'000, 20}, {30'000, 30}, {40'000, 40}, {50'000, 50}}));
    EXPECT_EQ(m_listener.wakes, 5U);
    EXPECT_TRUE(m_listener.heap.empty());
}

TEST_F(EventHeapTest, FiresEventsOfOneTimeInTheOrderOfScheduling) {
    for (int i = 0; i < 100; ++i) m_listener.heap.schedule(Time::from_ns(7), i);
    drain();
    ASSERT_EQ(m_listener.heard.size(), 100U);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(m_listener.heard[static_cast<std::size_t>(i)], (Heard{7'000, i}));
    }
    EXPECT_EQ(m_listener.wakes, 1U);
}

TEST_F(EventHeapTest, AnEventMayScheduleNowAndLaterAndEarlierThanOthers) {
    m_listener.on_event = [&](int what) {
        if (what == 1) {
            m_listener.heap.schedule(now(), 2);
            m_listener.heap.schedule(Time::from_ns(15), 3);
        }
    };
    m_listener.heap.schedule(Time::from_ns(20), 4);
    m_listener.heap.schedule(Time::from_ns(10), 1);
    drain();
    EXPECT_EQ(m_listener.heard,
              (std::vector<Heard>{{10'000, 1}, {10'000, 2}, {15'000, 3}, {20'000, 4}}));
}

TEST_F(EventHeapTest, WakesForAnEarlierEventThatComesLater) {
    m_listener.heap.schedule(Time::from_ns(100), 1);
    sc_core::sc_start(10, sc_core::SC_NS);
    m_listener.heap.schedule(Time::from_ns(50), 2);
    sc_core::sc_start(20, sc_core::SC_NS);
    EXPECT_TRUE(m_listener.heard.empty());
    m_listener.heap.schedule(Time::from_ns(40), 3);
    drain();
    EXPECT_EQ(m_listener.heard, (std::vector<Heard>{{40'000, 3}, {50'000, 2}, {100'000, 1}}));
}

TEST_F(EventHeapTest, RandomSchedulingFiresEachOnceOnTimeAndStably) {
    RandomStream random(5, "event heap");
    std::vector<Heard> expected;
    int next = 0;
    const auto schedule = [&](Time at) {
        m_listener.heap.schedule(at, next);
        expected.push_back({at.ps, next++});
    };
    m_listener.on_event = [&](int) {
        if (next < 5'000 && random.uniform(3) != 0) {
            schedule(now() + Time{static_cast<std::int64_t>(random.uniform(40))});
        }
    };
    for (int i = 0; i < 1'000; ++i) {
        schedule(Time{static_cast<std::int64_t>(random.uniform(3'000))});
    }
    drain();
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Heard& a, const Heard& b) { return a.at < b.at; });
    EXPECT_EQ(m_listener.heard, expected);
    EXPECT_GT(expected.size(), 1'500U);
    EXPECT_FALSE(sc_core::sc_pending_activity());
}

TEST_F(EventHeapTest, AnIdleHeapKeepsNothingPending) {
    m_listener.heap.schedule(Time::from_ns(1), 1);
    drain();
    EXPECT_FALSE(sc_core::sc_pending_activity());
    int what = 0;
    EXPECT_FALSE(m_listener.heap.pop_due(what));
    EXPECT_FALSE(sc_core::sc_pending_activity());
}

using EventHeapDeathTest = EventHeapTest;

TEST_F(EventHeapDeathTest, ThePastIsRefused) {
    m_listener.heap.schedule(Time::from_ns(1), 1);
    drain();
    EXPECT_DEATH(m_listener.heap.schedule(Time{999}, 2), "at >= now");
}

}  // namespace
}  // namespace kvplane
