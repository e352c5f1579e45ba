// SPDX-License-Identifier: Apache-2.0
#include "tb/unit/bench.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "model/index/toeplitz.h"

namespace kvplane::rtl {

Bench::Bench(std::unique_ptr<MetaLookupDut> dut, DutShape shape, bool enable)
    : m_dut(std::move(dut)), m_shape(shape) {
    settle_down(1U << 20U);
    if (!enable) return;
    set_seeds(1);
    write(Register::kControl, 1);
}

DutOutputs Bench::cycle(const DutInputs& inputs) {
    const DutOutputs out = m_dut->settle(inputs);
    if (out.response_valid && inputs.response_ready) {
        EXPECT_EQ(out.id, m_expected) << "answers out of order";
        ++m_expected;
        m_responses.push_back({out.id, out.answer, m_dut->cycles()});
    }
    m_dut->posedge();
    return out;
}

std::uint64_t Bench::issue(const index::Request& request) {
    const DutInputs inputs{
        .request_valid = true, .id = m_id, .request = request, .response_ready = take_answers};
    for (std::uint32_t waited = 0; waited < 10'000; ++waited) {
        if (!cycle(inputs).request_ready) continue;
        ++m_id;
        return m_dut->cycles() - 1;
    }
    throw std::runtime_error("the engine accepts nothing any more");
}

bool Bench::refuses(const index::Request& request, std::uint32_t cycles) {
    const DutInputs inputs{
        .request_valid = true, .id = m_id, .request = request, .response_ready = take_answers};
    for (std::uint32_t i = 0; i < cycles; ++i) {
        if (cycle(inputs).request_ready) return false;
    }
    return true;
}

DutOutputs Bench::step() { return cycle({.response_ready = take_answers}); }

void Bench::settle_down(std::uint32_t most) {
    for (std::uint32_t i = 0; i < most; ++i) {
        if (step().idle) return;
    }
    throw std::runtime_error("the engine does not come to rest");
}

index::Answer Bench::ask(const index::Request& request) {
    issue(request);
    const std::uint8_t id = static_cast<std::uint8_t>(m_id - 1);
    for (std::uint32_t waited = 0; waited < 100; ++waited) {
        if (!m_responses.empty() && m_responses.back().id == id) {
            const index::Answer answer = m_responses.back().answer;
            m_responses.clear();
            return answer;
        }
        step();
    }
    throw std::runtime_error("a request without an answer");
}

index::Answer Bench::ask_quietly(const index::Request& request) {
    settle_down();
    const index::Answer answer = ask(request);
    settle_down();
    return answer;
}

std::uint32_t Bench::read(Register address) {
    DutInputs inputs{.response_ready = take_answers,
                     .register_valid = true,
                     .register_address = static_cast<std::uint8_t>(address)};
    while (!cycle(inputs).register_ready) continue;
    inputs.register_valid = false;
    for (;;) {
        const DutOutputs out = cycle(inputs);
        if (out.register_answer_valid) return out.register_data;
    }
}

bool Bench::write(Register address, std::uint32_t data) {
    DutInputs inputs{.response_ready = take_answers,
                     .register_valid = true,
                     .register_write = true,
                     .register_address = static_cast<std::uint8_t>(address),
                     .register_data = data};
    while (!cycle(inputs).register_ready) continue;
    inputs.register_valid = false;
    for (;;) {
        const DutOutputs out = cycle(inputs);
        if (out.register_answer_valid) return !out.register_error;
    }
}

void Bench::set_seeds(std::uint64_t seed) {
    const auto values = index::toeplitz_seeds(seed);
    for (std::uint8_t half = 0; half < 2; ++half) {
        const std::uint64_t value = values[half];
        const auto at =
            static_cast<std::uint8_t>(static_cast<std::uint8_t>(Register::kSeed0) + 2 * half);
        write(static_cast<Register>(at), static_cast<std::uint32_t>(value));
        write(static_cast<Register>(at + 1), static_cast<std::uint32_t>(value >> 32U));
    }
}

void Bench::inject(const std::vector<std::uint32_t>& bits) {
    std::array<std::uint32_t, 5> words{};
    for (const std::uint32_t bit : bits) words[bit / 32] ^= 1U << bit % 32;
    for (std::uint8_t i = 0; i < words.size(); ++i) {
        const auto at =
            static_cast<std::uint8_t>(static_cast<std::uint8_t>(Register::kInject0) + i);
        write(static_cast<Register>(at), words[i]);
    }
}

void Bench::reset() {
    m_dut->reset();
    m_responses.clear();
    m_id = m_expected = 0;
    settle_down(1U << 20U);
    set_seeds(1);
    write(Register::kControl, 1);
}

}  // namespace kvplane::rtl
