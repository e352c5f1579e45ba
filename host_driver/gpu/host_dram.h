// SPDX-License-Identifier: Apache-2.0
/// Host DRAM at the far end of a copy engine, in place of a card: copies of both directions share
/// its bandwidth, and nothing else stands in their way.
#pragma once

#include <array>
#include <systemc>

#include "model/common/event_heap.h"
#include "model/common/flow_server.h"
#include "model/engine/bulk_mem_if.h"
#include "model/memory/sparse_store.h"

namespace kvplane::gpu {

/// 8 channels of DDR5-4800 on one socket, two reads to a write (Intel MLC 3.11 on a Xeon 8480).
inline constexpr Rate kHostDramBandwidth{207'000'000'000};

class HostDram final : public sc_core::sc_module,
                       public engine::BulkMemIf,
                       private kvplane::FlowClient {
public:
    explicit HostDram(sc_core::sc_module_name name, Rate bandwidth = kHostDramBandwidth);

    void open_bulk(engine::BulkDirection direction, Rate cap, engine::BulkClient& client) override;
    void start_bulk(engine::BulkDirection direction, std::uint32_t token, Bytes size) override;
    void read(Dpa address, std::span<std::uint8_t> data) const override;
    void write(Dpa address, std::span<const std::uint8_t> data) override;

private:
    void run();
    void arm();
    void block_drained(std::uint32_t server, std::uint32_t id, std::uint32_t block, Time start,
                       Time end) override;
    void job_drained(std::uint32_t server, std::uint32_t id, Time end) override;
    void job_given_up(std::uint32_t server, std::uint32_t id, std::uint32_t blocks, FlowEnd reason,
                      Time end) override;

    FlowServers m_flows;  ///< by BulkDirection
    std::array<engine::BulkClient*, 2> m_clients{};
    std::array<Time, 2> m_started{};  ///< of the copy that drains
    EventHeap<std::uint8_t> m_ends;
    memory::SparseStore m_store;
};

}  // namespace kvplane::gpu
