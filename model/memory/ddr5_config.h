// SPDX-License-Identifier: Apache-2.0
/// Everything that a card chooses about its DRAM at line fidelity: device, controller, RAS.
#pragma once

#include <cstdint>
#include <string>

#include "model/common/units.h"
#include "model/memory/dram_timing.h"

namespace kvplane::memory {

/// Where the check bits of a line live.
enum class DramEcc : std::uint8_t {
    kNone,      ///< nowhere
    kSideband,  ///< on pins of their own: no bandwidth, but a partial write reads its line first
    kInline     ///< in the DRAM itself: a line of check bits for eight of data
};

enum class DramRefreshMode : std::uint8_t {
    kAllBank,      ///< a rank at a time, every refi1 for rfc1
    kFineAllBank,  ///< a rank at a time, every refi2 for rfc2
    kSameBank,     ///< a bank of each group at a time, every refi2 / banks for rfc_sb
    kNone          ///< for comparison with a closed form; no device works so
};

/// What the card's temperature asks of the DRAM.
struct DramThermal {
    bool double_refresh = false;     ///< above 85 C
    Ratio bandwidth_cap{1'000'000};  ///< share of the pins' bandwidth; 1 to 100 %
    bool operator==(const DramThermal&) const = default;
};

struct Ddr5Config {
    DramTiming timing = timing_of(DramPreset::kDdr5At4800B);
    DramGeometry geometry = geometry_of(DramPreset::kDdr5At4800B);
    std::uint32_t channels = 1;        ///< 1 to 64
    Bytes interleave{256};             ///< run of one subchannel; a power of two of 64 B to 1 MiB
    std::string mapping = "mop4-xor";  ///< a name or an order of AddressMap

    std::uint32_t read_queue = 32;   ///< reads waiting in a subchannel; 2 to 1024
    std::uint32_t write_queue = 32;  ///< writes waiting in a subchannel; 2 to 1024
    std::uint32_t write_high = 26;   ///< with more waiting, writes go before reads ...
    /// ... until fewer are left, or while reads wait as many have been written as lie between the
    /// marks; 1 to write_high.
    std::uint32_t write_low = 6;
    /// A row hit passes no request of its bank that waits for longer, and a batch of writes lasts
    /// no longer while reads wait.
    Time starvation = Time::from_us(1);
    /// Writes within a bank group keep ccd_l_wr apart (true) or ccd_l_wr2.
    bool writes_modify = true;

    DramRefreshMode refresh = DramRefreshMode::kAllBank;
    DramEcc ecc = DramEcc::kSideband;
    std::uint32_t ecc_buffer = 64;  ///< lines of check bits held by the controller; inline only
    Time scrub_interval{};          ///< between two lines of the patrol scrub; 0: none
    /// Errors that ECC has corrected until the card tells of them; 1 to 65,535.
    std::uint32_t corrected_threshold = 16;
    DramThermal thermal;
    Time controller = Time::from_ns(20);  ///< controller and PHY, added to every answer (assumed)

    /// The device and the numbers that go with it; the controller's choices keep their defaults.
    [[nodiscard]] static Ddr5Config of(DramPreset preset);

    /// Writes of a batch: from above the high mark to below the low one.
    [[nodiscard]] std::uint32_t write_batch() const { return write_high - write_low + 2; }
    [[nodiscard]] std::uint32_t subchannels() const { return channels * geometry.subchannels; }
    /// Lines of one subchannel that hold data: all, or eight of nine beside inline check bits.
    [[nodiscard]] std::uint64_t data_lines() const {
        return ecc == DramEcc::kInline ? geometry.lines() / 9 * 8 : geometry.lines();
    }
    [[nodiscard]] Bytes capacity() const { return {data_lines() * subchannels() * kLine.count}; }
    /// Bytes per second of all data pins.
    [[nodiscard]] Rate pins() const {
        return {pin_rate(timing, geometry).bytes_per_second * subchannels()};
    }
    /// Between two refreshes of a rank, and how long one takes. Zero where there are none.
    [[nodiscard]] Cycle refresh_interval() const;
    [[nodiscard]] Cycle refresh_time() const;
    /// How much later than the first subchannel's the refreshes of another are: they take turns
    /// between two refreshes of its ranks.
    [[nodiscard]] Cycle refresh_offset(std::uint32_t subchannel) const {
        return refresh_interval() / (geometry.ranks * subchannels()) * subchannel;
    }
};

/// Throws UserError, one line, where a config contradicts itself or its device.
void check(const Ddr5Config& config);
/// The same, and the config, for constructors.
[[nodiscard]] inline const Ddr5Config& checked(const Ddr5Config& config) {
    check(config);
    return config;
}

}  // namespace kvplane::memory
