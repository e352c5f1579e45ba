// SPDX-License-Identifier: Apache-2.0
/// The host's own paths: copies by a GPU's copy engine out of host DRAM (V9), and MMIO (V10).
#include <fmt/format.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <cstring>

#include "explore/kernel.h"
#include "explore/validate.h"
#include "host_driver/driver/card_driver.h"
#include "host_driver/gpu/copy_engine.h"
#include "host_driver/gpu/host_dram.h"
#include "model/card/type3_card.h"
#include "model/common/errors.h"
#include "model/index/tlm_index.h"
#include "model/management/queue_registers.h"

namespace kvplane::explore {
namespace {

using engine::BulkDirection;

constexpr double kTolerance = 0.05;
constexpr Bytes kBlock = Bytes::from_mib(5);

/// Copies out of host DRAM, and when they ended.
class CopyLoop final : private gpu::CopyClient {
public:
    explicit CopyLoop(const gpu::CopyEngineConfig& config)
        : m_dram("dram"), m_engine("engine", of_host_dram(config), *this) {
        m_engine.mem.bind(m_dram);
    }

    /// Time of one copy within a loop of them.
    double us_each(Bytes size, std::uint32_t copies) {
        m_engine.copy(BulkDirection::kRead, copies, size);
        sc_core::sc_start();
        return (m_ends.back() - m_ends.front()).us() / static_cast<double>(m_ends.size() - 1);
    }

private:
    /// A source that is not a card adds no latency of a card.
    static gpu::CopyEngineConfig of_host_dram(gpu::CopyEngineConfig config) {
        config.round_trip = config.round_trip - config.card_latency;
        config.card_latency = {};
        return config;
    }
    void copy_done(BulkDirection, const gpu::CopyTimes& times) override {
        m_ends.push_back(times.ended);
    }

    gpu::HostDram m_dram;
    gpu::CopyEngine m_engine;
    std::vector<Time> m_ends;
};

double us_each(const gpu::CopyEngineConfig& config, Bytes size, std::uint32_t copies) {
    const Kernel kernel;
    return CopyLoop(config).us_each(size, copies);
}

struct CopyReference {
    std::uint32_t kib;
    double us;
    bool held_out;
};

/// Up to 32 KiB the floor of a copy, above that block size over bandwidth. The table of small
/// copies was fed with 4 and 32 KiB, which are no rows; the fit of the two parameters saw 64 KiB
/// and more.
constexpr std::array kCopies{
    CopyReference{8, 3.66, true},
    CopyReference{16, 3.85, true},
    CopyReference{64, 65.536 / 14.4, false},
    CopyReference{128, 131.072 / 22.8, false},
    CopyReference{256, 262.144 / 31.8, false},
    CopyReference{512, 524.288 / 39.5, false},
    CopyReference{1024, 1048.576 / 44.4, false},
    CopyReference{2048, 2097.152 / 47.8, false},
    CopyReference{4096, 4194.304 / 49.8, false},
    CopyReference{8192, 8388.608 / 50.7, false},
    CopyReference{16384, 16777.216 / 51.3, false},
};

void copies(const gpu::CopyEngineConfig& config, std::vector<ValidationRow>& rows) {
    constexpr std::uint32_t kMany = 1000;
    const auto add = [&](std::string id, const char* source, double us, double model,
                         bool held_out) {
        rows.push_back({std::move(id), source, "silicon", us, us, model, kTolerance, held_out, {}});
    };
    for (const CopyReference& copy : kCopies) {
        add(fmt::format("V9-h2d-{}KiB", copy.kib),
            "H100, pinned host memory, cudaMemcpyAsync in a loop of 1000 (vLLM blog 2026-01); us",
            copy.us, us_each(config, Bytes::from_kib(copy.kib), kMany), copy.held_out);
    }
}

/// In place of the card's registers: when doorbells were rung.
class DoorbellLog final : public sc_core::sc_module {
public:
    explicit DoorbellLog(sc_core::sc_module_name name) : sc_module(name) {
        socket.register_b_transport(this, &DoorbellLog::b_transport);
    }
    tlm_utils::simple_target_socket<DoorbellLog> socket{"socket"};
    std::vector<Time> rung;

private:
    void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
        const std::uint64_t tail =
            management::queue_register(0, management::QueueRegister::kSubmissionTail);
        if (payload.get_address() == tail) rung.push_back(now() + from_sc_time(delay));
    }
};

/// What the CPU spends on one posted descriptor and doorbell: between two doorbells of a driver
/// that always has another.
double posted_write_us(const driver::DriverConfig& config) {
    const Kernel kernel;
    gpu::HbmPool hbm(4, kBlock, false);
    driver::MoveMetrics metrics;
    driver::CardDriver driver("driver", config, hbm, metrics);
    DoorbellLog registers("registers");
    driver.mmio.bind(registers.socket);
    const driver::Move move{};
    for (std::uint32_t i = 0; i < 3; ++i) {
        driver::MoveRun run;
        run.token = i;
        run.moves = {&move, 1};
        driver.submit(run);
    }
    sc_core::sc_start();
    return (registers.rung.at(2) - registers.rung.at(1)).us();
}

class RegisterHost final : public sc_core::sc_module {
public:
    explicit RegisterHost(sc_core::sc_module_name name) : sc_module(name) {}
    tlm_utils::simple_initiator_socket<RegisterHost> socket{"socket"};

    Time access(tlm::tlm_command command, std::uint64_t address, std::uint64_t value = 0) {
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
        payload.set_data_length(sizeof(value));
        payload.set_streaming_width(sizeof(value));
        sc_core::sc_time delay;
        socket->b_transport(payload, delay);
        return from_sc_time(delay);
    }
};

struct MmioTimes {
    double read_us = 0;     ///< round trip
    double one_way_us = 0;  ///< posted write, from the initiator until the card sees it
};

MmioTimes mmio_times(const card::CardConfig& config) {
    const Kernel kernel;
    index::TlmIndex index(config.index);
    card::Type3Card card("card", config, kBlock, index);
    RegisterHost host("host");
    host.socket.bind(card.mmio);
    MmioTimes times;
    sc_core::sc_start(1, sc_core::SC_PS);
    const Time read =
        host.access(tlm::TLM_READ_COMMAND,
                    management::queue_register(0, management::QueueRegister::kSubmissionTail));
    times.read_us = read.us();
    // A doorbell of a queue that is not enabled: the card counts it when it sees it.
    const Time rung = now();
    const Time stall =
        host.access(tlm::TLM_WRITE_COMMAND,
                    management::queue_register(0, management::QueueRegister::kSubmissionTail), 1);
    if (stall != Time{}) throw InvariantError("validate: a posted write holds its initiator up");
    while (card.refused_doorbells() == 0) sc_core::sc_start(1, sc_core::SC_NS);
    times.one_way_us = (now() - rung).us();
    return times;
}

void mmio(const RunConfig& config, std::vector<ValidationRow>& rows) {
    const auto add = [&](const char* id, const char* source, double low, double high,
                         double model) {
        rows.push_back({id, source, "silicon", low, high, model, kTolerance, false, {}});
    };
    const MmioTimes times = mmio_times(config.card);
    const double posted = posted_write_us(config.driver);
    add("V10-mmio-read",
        "MMIO read round trip on Gen5 x16, Tenstorrent p150a (ttkmd_bench); us; restates "
        "card.flight",
        0.741, 0.741, times.read_us);
    add("V10-posted-write",
        "posted write of 64 B as the CPU sees it, V100 and P100 (gdrcopy); us; restates "
        "driver.submit",
        0.09, 0.13, posted);
    add("V10-ping-pong",
        "CPU to GPU flag and back, T4 and A40 (gdrcopy); us; posted write, flight, write back, "
        "half "
        "a poll",
        0.94, 1.09,
        posted + times.one_way_us + (times.read_us - times.one_way_us) +
            Time{config.driver.poll_interval.ps / 2}.us());
}

}  // namespace

std::vector<ValidationRow> validate_host_copies(const RunConfig& config) {
    std::vector<ValidationRow> rows;
    copies(config.driver.copy_engine, rows);
    mmio(config, rows);
    return rows;
}

}  // namespace kvplane::explore
