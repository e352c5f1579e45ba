// SPDX-License-Identifier: Apache-2.0
/// Drives a verilated engine: requests in, answers out with their cycles, registers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "tb/plugin/lookup_dut.h"

namespace kvplane::rtl {

struct Response {
    std::uint8_t id = 0;
    index::Answer answer{};
    std::uint64_t cycle = 0;  ///< rising edges before the one that takes it
};

/// A verilated engine that has been swept and enabled.
class Bench {
public:
    explicit Bench(std::unique_ptr<MetaLookupDut> dut, DutShape shape, bool enable = true);

    /// Presents `request` until it is accepted. Returns the accepting edge (edges before it).
    std::uint64_t issue(const index::Request& request);
    /// Presents `request` for so many cycles. True where it is not accepted: issue() it next.
    bool refuses(const index::Request& request, std::uint32_t cycles);
    /// One cycle without a request. Returns what was seen before its edge.
    DutOutputs step();
    /// Cycles until the engine is idle. Fails where that takes longer than `most`.
    void settle_down(std::uint32_t most = 100'000);
    /// issue(), and cycles until its answer is there.
    index::Answer ask(const index::Request& request);
    /// ask() of a quiet engine: settles down before and after.
    index::Answer ask_quietly(const index::Request& request);

    std::uint32_t read(Register address);
    /// False where the engine refuses.
    bool write(Register address, std::uint32_t data);
    void set_seeds(std::uint64_t seed);
    /// The next slot write to SRAM has the bits of a code word of 144 wrong: entry, check bits.
    void inject(const std::vector<std::uint32_t>& bits);

    /// Answers that have come and were not asked for yet; in the order of the requests.
    std::deque<Response>& responses() { return m_responses; }
    [[nodiscard]] std::uint64_t cycles() const { return m_dut->cycles(); }
    [[nodiscard]] const DutShape& shape() const { return m_shape; }
    [[nodiscard]] MetaLookupDut& dut() { return *m_dut; }
    /// Whether answers are taken; nothing comes while they are not.
    bool take_answers = true;

    void reset();

private:
    DutOutputs cycle(const DutInputs& inputs);

    std::unique_ptr<MetaLookupDut> m_dut;
    DutShape m_shape;
    std::deque<Response> m_responses;
    std::uint8_t m_id = 0;
    std::uint8_t m_expected = 0;
};

}  // namespace kvplane::rtl
