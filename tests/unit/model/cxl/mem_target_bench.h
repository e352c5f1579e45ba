// SPDX-License-Identifier: Apache-2.0
/// The front end over a memory of fixed latency, with one window mapped.
#pragma once

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <memory>
#include <vector>

#include "model/cxl/mem_target.h"
#include "tests/support/plain_memory.h"
#include "tests/support/systemc_test.h"
#include "tests/support/tlm_pool.h"
#include "tests/unit/model/cxl/at_initiator.h"

namespace kvplane::cxl {

inline constexpr std::uint64_t kBase = 4ULL << 30;  // HPA of the window
inline constexpr std::uint64_t kSize = 256ULL << 20;
inline constexpr Time kLatency = Time::from_ns(60);

class LooseInitiator final : public sc_core::sc_module {
public:
    explicit LooseInitiator(sc_core::sc_module_name name) : sc_module(name) {
        socket.register_nb_transport_bw(this, &LooseInitiator::backward);
    }
    tlm_utils::simple_initiator_socket<LooseInitiator> socket{"socket"};

private:
    /// Takes answers and leaves their end to the test.
    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) {
        return tlm::TLM_ACCEPTED;
    }
};

class MemTargetTest : public test::SystemCTest {
protected:
    void build(const MemTargetConfig& config = {}, const LinkConfig& link = {},
               std::uint32_t region = HdmDecoders::kHostOnly) {
        MemTargetConfig full = config;
        full.hdm.capacity = {kSize};
        m_target = std::make_unique<MemTarget>("target", link, full, memory);
        map(region);
    }
    void map(std::uint32_t region = HdmDecoders::kHostOnly) {
        HdmDecoders& decoders = m_target->core().decoders();
        decoders.commit_bi_id(true);
        decoders.write(HdmDecoders::kFirst + 0x04, static_cast<std::uint32_t>(kBase >> 32));
        decoders.write(HdmDecoders::kFirst + 0x08, static_cast<std::uint32_t>(kSize));
        decoders.write(HdmDecoders::kFirst + 0x10, region | HdmDecoders::kCommit);
        decoders.write(HdmDecoders::kGlobal, HdmDecoders::kEnable);
        ASSERT_EQ(decoders.error(0), CommitError::kNone);
    }
    void bind_loose() {
        m_loose = std::make_unique<LooseInitiator>("loose");
        m_loose->socket.bind(m_target->socket);
        sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_PS));
    }
    AtInitiator& add(const AtPlan& plan) {
        AtPlan mine = plan;
        mine.base = kBase + m_initiators.size() * 64 * plan.lines;
        mine.seed = plan.seed + m_initiators.size();
        m_initiators.push_back(
            std::make_unique<AtInitiator>(sc_core::sc_gen_unique_name("initiator"), mine));
        m_initiators.back()->socket.bind(m_target->socket);
        return *m_initiators.back();
    }

    /// One b_transport of `length` bytes; the time it takes.
    Time access(tlm::tlm_command command, std::uint64_t address, std::uint8_t* data,
                unsigned length, MemExtension* extension = nullptr) {
        tlm::tlm_generic_payload payload;
        test::set_up(payload, command, address, data, length);
        if (extension != nullptr) payload.set_extension(extension);
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        m_loose->socket->b_transport(payload, delay);
        status = payload.get_response_status();
        if (extension != nullptr) payload.clear_extension(extension);
        return from_sc_time(delay);
    }
    Time read(std::uint64_t address, unsigned length = 64, MemExtension* extension = nullptr) {
        line.fill(0);
        return access(tlm::TLM_READ_COMMAND, address, line.data(), length, extension);
    }
    Time write(std::uint64_t address, std::uint8_t value, unsigned length = 64,
               MemExtension* extension = nullptr) {
        std::array<std::uint8_t, 128> data{};
        data.fill(value);
        return access(tlm::TLM_WRITE_COMMAND, address, data.data(), length, extension);
    }

    test::PlainMemory memory{kLatency};
    std::unique_ptr<MemTarget> m_target;
    std::unique_ptr<LooseInitiator> m_loose;
    std::vector<std::unique_ptr<AtInitiator>> m_initiators;
    std::array<std::uint8_t, 128> line{};
    tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
};

}  // namespace kvplane::cxl
