// SPDX-License-Identifier: Apache-2.0
/// The card's DRAM as bandwidth and latency: what flows share, and what one line waits. Burst
/// fidelity; `burst_config()` derives its numbers from the line model.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/common/units.h"
#include "model/memory/ddr5_config.h"
#include "model/memory/ddr5_interleave.h"
#include "model/memory/dram_banks.h"
#include "model/memory/dram_rows.h"

namespace kvplane::memory {

struct DramConfig {
    std::uint32_t channels = 4;           ///< 64-bit channels
    std::uint32_t subchannels = 2;        ///< that a channel's pins are parted into: DDR4 1, DDR5 2
    TransferRate speed{5'600'000'000};    ///< per data pin
    DramEcc ecc = DramEcc::kSideband;     ///< sideband ECC costs no bandwidth
    Ratio service{910'000};               ///< share of the pins that reads in a row reach
    Time turnaround = Time::from_ns(20);  ///< one change of direction (assumed)
    std::uint32_t write_batch = 24;       ///< lines written between two changes of direction
    Time closed_row{36'600};              ///< activate to first data of a closed row
    Time controller = Time::from_ns(20);  ///< controller and PHY (assumed)
    /// The device, where it is known: then single lines find rows open or closed and banks in
    /// refresh, and a write is answered when it is queued. Else each of them waits for a closed
    /// row.
    std::optional<Ddr5Config> device;
    /// Of lines at random, where the device is known: what a line takes that opens a row, refreshes
    /// included. Zero: no more than others.
    struct Rows {
        Time read;
        Time write;
        Ratio opens;  ///< share of the lines of a sequential stream that open a row
    };
    Rows rows{};
};

/// The burst parameters of a DRAM: pins, closed row and controller from its timing; `service` from
/// the line model's sequential reads; `write_batch` from its watermarks; and `turnaround` so that a
/// sequential mix of two reads to a write takes as long as there. `rows` is of lines at random.
/// Runs the line model for some 200,000 lines: a fifth of a second. Throws UserError where
/// check(line) does.
[[nodiscard]] DramConfig burst_config(const Ddr5Config& line);

/// All channels of a card. Lines interleave over subchannels.
class Dram {
public:
    explicit Dram(const DramConfig& config);

    /// Payload bytes per second of all channels, reads in a row.
    [[nodiscard]] Rate bandwidth() const;
    /// The time one subchannel gives to a line (s0 of the transfer model).
    [[nodiscard]] Time line_service() const { return m_line_service; }
    /// What a written line costs beyond line_service() where reads are mixed in: two changes of
    /// direction a batch.
    [[nodiscard]] Time mixed_write_extra() const;
    /// First data of an idle closed row, controller and PHY included, as a record read sees it.
    [[nodiscard]] Time idle_latency() const { return m_config.closed_row + m_config.controller; }

    /// What transfers take at the same time.
    struct Transfers {
        Ratio share{};   ///< of the DRAM, now
        Rate read{};     ///< payload, now
        Rate written{};  ///< payload, now
        Rate lately{};   ///< read and written, over the last few microseconds
    };
    /// Reads or writes one line at `now`: returns when its data is there, or its write is taken.
    /// Lines of one subchannel queue. Transfers stretch each line's service, of their share 95 % at
    /// most, since single lines go before them. Where the device is known, they leave their rows
    /// open, and a read waits for the batch of writes that its subchannel is at.
    [[nodiscard]] Time access_line(Time now, Dpa line, bool write, const Transfers& transfers);

    /// When the first lines of a run that is read from `at` on, and leaves in order at rate `out`,
    /// can leave, so that none of it has to wait for those after it. One subchannel that refreshes,
    /// or is at a batch of writes, holds up what all others have read, until so much is read ahead
    /// that it does not matter. Takes nothing of the DRAM: the run is one of the transfers.
    [[nodiscard]] Time begin_run(Time at, Dpa start, Bytes size, Rate out, Rate written);

private:
    /// A line, and the parts in a million of the DRAM that transfers leave.
    struct Request {
        std::uint64_t line = 0;
        std::int64_t left = 0;
    };
    /// The queues of a subchannel whose device is known. Reads go before writes, until too many
    /// wait.
    struct Queue {
        Queue(const Ddr5Config& device, std::uint32_t subchannel)
            : rows(device, device.refresh_offset(subchannel)),
              reads(device.read_queue),
              places(device.write_queue) {
            waiting.reserve(device.write_queue);
        }
        DramRows rows;
        std::vector<Time> reads;  ///< when each place for a read is free again: a heap, least first
        std::vector<Time> places;      ///< the same of writes that have their place on the bus
        std::vector<Request> waiting;  ///< the other writes, oldest first
        std::array<std::uint16_t, DramBanks::kMostBanks> taken{};  ///< of a batch, by bank
        Time read_until;   ///< when the last read leaves its place
        Time read_after;   ///< when the bus has turned
        Time write_after;  ///< the same
        Time batch_until;  ///< the last command of the last batch
    };

    /// What a line takes of the bus: of one kind where it opens a row, and where it does not.
    struct Cost {
        Time opens;
        Time hits;
    };
    /// Batches of writes of transfers, where the device is known. They come at fixed intervals.
    struct Batches {
        Rate written;         ///< by all transfers
        Time length;          ///< of one, with its turnarounds and the rows that it leaves
        Time interval;        ///< from one to the next of a subchannel
        Time longest_wait;    ///< of those of all subchannels, in the mean
        Time behind_refresh;  ///< of one whose writes came during a refresh, in the mean
    };
    [[nodiscard]] const Batches& batches_at(Rate written);
    [[nodiscard]] Time past_batches(std::uint32_t subchannel, Time at, const Transfers& transfers);
    [[nodiscard]] Time refresh_stall(Time at, Dpa start, Bytes size, Rate out, Time behind);
    [[nodiscard]] Cost cost_of(Time random, Time activates) const;
    [[nodiscard]] Time access_row(Time at, Dpa line, bool write, const Transfers& transfers);
    [[nodiscard]] Time read_row(Queue& queue, Time at, Time& free_at, const Request& read);
    [[nodiscard]] Time write_row(Queue& queue, Time at, Time& free_at, const Request& write);
    Time perform_write(Queue& queue, Time at, Time& free_at, const Request& write) const;
    void drain_idle(Queue& queue, Time now, Time& free_at) const;
    void drain_batch(Queue& queue, Time now, Time& free_at) const;

    DramConfig m_config;
    Time m_line_service;
    /// The same while no refresh stops it, where a device is known.
    Time m_row_service;
    Cost m_read_cost;
    Cost m_write_cost;
    Time m_read_to_data;
    Time m_write_to_data;
    Time m_read_to_write;
    Time m_write_to_read;
    Time m_row_opens;
    Time m_reopens;               ///< one row closed, and another opened
    std::uint64_t m_lines = 0;    ///< of the device
    std::vector<Time> m_free_at;  ///< by subchannel
    Time m_blocked;               ///< until when a full queue keeps requests waiting
    std::vector<Queue> m_queues;  ///< by subchannel; empty without a device
    std::uint64_t m_pass = 0;     ///< lines of a subchannel until a stream has come by every bank
    Time m_least_batch;
    Batches m_batches;  ///< at the rate that was asked for last
    std::optional<Ddr5Interleave> m_interleave;
};

}  // namespace kvplane::memory
