// SPDX-License-Identifier: Apache-2.0
/// The verilated lookup engine (rtl/lookup_engine) as plain C++: pins in, pins out, one clock. It
/// knows nothing of SystemC, and no file that includes <systemc> sees what lies behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/index/request.h"

namespace kvplane::rtl {

/// Registers of the engine, by 32-bit word; the meaning is in lookup_pkg.sv.
enum class Register : std::uint8_t {
    kControl = 0,
    kStatus = 1,
    kSeed0 = 2,  ///< 2, 3: half 0, low word first; 4, 5: half 1
    kScrub = 6,
    kSize = 7,
    kLookups = 8,
    kHits = 9,
    kInserts = 10,
    kKicks = 11,
    kKicksMax = 12,
    kStashHigh = 13,
    kCorrected = 14,
    kUncorrectable = 15,
    kConflicts = 16,
    kStalls = 17,
    kStolen = 18,
    kStash = 19,
    kInject0 = 24,  ///< 24 to 28; writing the last arms
};

/// What a cycle's inputs are. Everything is stable from one edge to the next.
struct DutInputs {
    bool request_valid = false;
    std::uint8_t id = 0;
    index::Request request{};
    bool response_ready = true;
    bool register_valid = false;
    bool register_write = false;
    std::uint8_t register_address = 0;
    std::uint32_t register_data = 0;
    bool register_answer_ready = true;
};

struct DutOutputs {
    bool request_ready = false;
    bool response_valid = false;
    std::uint8_t id = 0;  ///< of the response, as is `answer`
    index::Answer answer{};
    bool register_ready = false;
    bool register_answer_valid = false;
    std::uint32_t register_data = 0;
    bool register_error = false;
    std::uint32_t stash = 0;  ///< entries in the stash
    bool idle = false;
};

class MetaLookupDut {
public:
    virtual ~MetaLookupDut() = default;

    /// Asserts the reset for two cycles; the sweep that follows is the caller's to clock.
    virtual void reset() = 0;
    /// Outputs for these inputs with the clock low: what the next edge will see.
    virtual DutOutputs settle(const DutInputs& inputs) = 0;
    /// One rising edge, with the inputs of the last settle().
    virtual void posedge() = 0;
    /// Rising edges since construction.
    [[nodiscard]] virtual std::uint64_t cycles() const = 0;
};

/// An engine that can be taken back in time.
class RewindableDut : public MetaLookupDut {
public:
    /// Remembers the state as it is, in place of what was remembered before.
    virtual void mark() = 0;
    /// Back to the state at the last mark(), cycles() apart.
    virtual void rewind() = 0;
    /// An entry as the SRAM has it; a write may still wait in the store buffer.
    [[nodiscard]] virtual index::Entry peek(std::uint32_t half, std::uint64_t bucket,
                                            std::uint32_t slot) const = 0;
};

/// An engine whose waveforms can be written as FST.
class TracedDut : public MetaLookupDut {
public:
    virtual void open(const std::string& file) = 0;
    /// Writes all values as they are, at a time later than that of the last call.
    virtual void dump(std::int64_t ps) = 0;
    virtual void close() = 0;
};

/// The shape of a verilated engine.
struct DutShape {
    std::uint32_t buckets_log2 = 16;
    std::uint32_t slots = 4;
    std::uint32_t banks = 8;
    std::uint32_t stash = 16;
    std::uint32_t kick_limit = 32;
    std::uint32_t sram_latency = 1;
    std::uint32_t store_buffer = 16;

    [[nodiscard]] std::uint32_t latency() const { return 3 + sram_latency; }
    [[nodiscard]] std::uint64_t capacity() const {
        return (std::uint64_t{2} << buckets_log2) * slots;
    }
};

/// The baseline card's: 8 MiB.
inline constexpr DutShape kCardShape{};
[[nodiscard]] std::unique_ptr<RewindableDut> make_card_dut();
/// The same with tracing.
[[nodiscard]] std::unique_ptr<TracedDut> make_waves_dut();

/// What the benches drive besides (tb/CMakeLists.txt), and its shape. Each is a library of its own.
inline constexpr DutShape kSmallShape{.buckets_log2 = 8};
inline constexpr DutShape kLatency3Shape{.buckets_log2 = 8, .sram_latency = 3};
inline constexpr DutShape kTinyShape{
    .buckets_log2 = 2, .slots = 2, .banks = 2, .stash = 2, .kick_limit = 2, .store_buffer = 4};
[[nodiscard]] std::unique_ptr<MetaLookupDut> make_small_dut();
[[nodiscard]] std::unique_ptr<MetaLookupDut> make_latency3_dut();
[[nodiscard]] std::unique_ptr<MetaLookupDut> make_tiny_dut();

}  // namespace kvplane::rtl
