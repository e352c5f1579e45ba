// SPDX-License-Identifier: Apache-2.0
/// A GPU's copy engines, one a direction, driven by a loop of copy calls: copies of one direction
/// run one after another, each with its launch before its bytes.
#pragma once

#include <array>
#include <optional>
#include <systemc>
#include <vector>

#include "model/common/event_heap.h"
#include "model/engine/bulk_mem_if.h"

namespace kvplane::gpu {

/// What a copy of this size takes beyond CopyEngineConfig::issue_interval.
struct SmallCopy {
    Bytes size;
    Time extra;
};

struct CopyEngineConfig {
    Time launch_latency = Time::from_us(7);  ///< call to first byte, engine idle: 5 to 7 us
    Time issue_interval{3'240'000};          ///< the same for the next copy of a loop
    /// Rising by size: straight lines between them; below the first as the first, above the last
    /// nothing.
    std::vector<SmallCopy> small_copies{{Bytes::from_kib(4), Time::from_ns(341)},
                                        {Bytes::from_kib(32), Time::from_ns(497)},
                                        {Bytes::from_kib(64), Time{}}};
    Rate bandwidth{51'800'000'000};          ///< host to device
    Rate bandwidth_d2h{49'800'000'000};      ///< device to host
    std::optional<Bytes> window;             ///< bytes in flight of reads; unbound where absent
    Time card_latency = Time::from_ns(133);  ///< the card's read latency over host DRAM's
    Time round_trip = Time::from_ns(973);    ///< of one read in flight
};

/// What a copy of `size` takes in a loop before its first byte.
[[nodiscard]] Time loop_interval(const CopyEngineConfig& config, Bytes size);

/// When a copy was where.
struct CopyTimes {
    Time queued;    ///< the call
    Time started;   ///< its launch began
    Time launched;  ///< first byte, had the source been host DRAM
    Time begun;     ///< first byte
    Time ended;     ///< last byte
};

class CopyClient {
public:
    virtual ~CopyClient() = default;
    /// Copies of one direction end in the order of their calls. kRead: card to GPU.
    virtual void copy_done(engine::BulkDirection direction, const CopyTimes& times) = 0;
};

class CopyEngine final : public sc_core::sc_module, private engine::BulkClient {
public:
    CopyEngine(sc_core::sc_module_name name, const CopyEngineConfig& config, CopyClient& client);

    /// The memory at the far end.
    sc_core::sc_port<engine::BulkMemIf> mem{"mem"};

    /// Calls `copies` copies of `size` bytes each, now.
    void copy(engine::BulkDirection direction, std::uint32_t copies, Bytes size);

private:
    struct Calls {
        std::uint32_t left = 0;
        Bytes size;
        Time queued;
    };
    struct Engine {
        std::vector<Calls> queue;  ///< from `head` on
        std::size_t head = 0;
        bool busy = false;
        CopyTimes times;
    };

    void end_of_elaboration() override;
    void run();
    void start(engine::BulkDirection direction, bool in_loop);
    void bulk_failed(engine::BulkDirection direction, std::uint32_t token) override;
    void bulk_done(engine::BulkDirection direction, std::uint32_t token, Time start,
                   Time end) override;

    CopyEngineConfig m_config;
    CopyClient& m_client;
    std::array<Engine, 2> m_engines;
    EventHeap<engine::BulkDirection> m_launched;
};

}  // namespace kvplane::gpu
