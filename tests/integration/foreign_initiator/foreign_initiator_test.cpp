// SPDX-License-Identifier: Apache-2.0
/// A plain TLM-2.0 initiator, with loads and stores of 4 and 8 bytes, that knows nothing of CXL:
/// it works on the card as on any memory.
#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <systemc>
#include <tlm>
#include <vector>

#include "model/card/type3_card.h"
#include "model/index/tlm_index.h"
#include "tests/support/systemc_test.h"

namespace {

constexpr std::uint64_t kWindow = 8ULL << 30;
constexpr std::uint64_t kSize = 256ULL << 20;

/// A processor's bus port: SC_THREAD, stack payloads, blocking or four-phase transport.
class Processor final : public sc_core::sc_module {
public:
    Processor(sc_core::sc_module_name name, bool four_phases, std::uint64_t base, unsigned seed)
        : sc_module(name), m_four_phases(four_phases), m_base(base), m_random(seed) {
        socket.register_nb_transport_bw(this, &Processor::backward);
        SC_HAS_PROCESS(Processor);
        SC_THREAD(run);
    }
    tlm_utils::simple_initiator_socket<Processor> socket{"socket"};
    unsigned loads = 0;
    unsigned wrong = 0;
    unsigned refused = 0;
    bool done = false;

private:
    static constexpr std::size_t kBytes = 4096;

    /// The only thing such an initiator needs for four phases: payloads with a memory manager.
    struct Heap final : tlm::tlm_mm_interface {
        void free(tlm::tlm_generic_payload* payload) override { delete payload; }
    };

    void run() {
        std::vector<std::uint8_t> shadow(kBytes, 0);
        for (int i = 0; i < 3000; ++i) {
            const std::size_t size = m_random() % 2 == 0 ? 4 : 8;
            const std::size_t at = m_random() % (kBytes / size) * size;
            std::array<std::uint8_t, 8> data{};
            if (m_random() % 2 == 0) {
                for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(m_random());
                std::memcpy(shadow.data() + at, data.data(), size);
                if (!access(tlm::TLM_WRITE_COMMAND, at, data.data(), size)) ++refused;
            } else {
                if (!access(tlm::TLM_READ_COMMAND, at, data.data(), size)) ++refused;
                ++loads;
                if (std::memcmp(shadow.data() + at, data.data(), size) != 0) ++wrong;
            }
        }
        done = true;
    }

    bool access(tlm::tlm_command command, std::size_t at, std::uint8_t* data, std::size_t size) {
        auto* payload = new tlm::tlm_generic_payload(&m_heap);
        payload->acquire();
        payload->set_command(command);
        payload->set_address(m_base + at);
        payload->set_data_ptr(data);
        payload->set_data_length(static_cast<unsigned>(size));
        payload->set_streaming_width(static_cast<unsigned>(size));
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        if (m_four_phases) {
            tlm::tlm_phase phase = tlm::BEGIN_REQ;
            const auto status = socket->nb_transport_fw(*payload, phase, delay);
            if (status != tlm::TLM_COMPLETED) wait(m_answered);
        } else {
            socket->b_transport(*payload, delay);
            wait(delay);
        }
        const bool ok = payload->is_response_ok();
        payload->release();
        return ok;
    }

    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload&, tlm::tlm_phase& phase,
                                sc_core::sc_time&) {
        if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
        m_answered.notify(sc_core::SC_ZERO_TIME);
        return tlm::TLM_COMPLETED;
    }

    bool m_four_phases;
    std::uint64_t m_base;
    std::mt19937 m_random;
    Heap m_heap;
    sc_core::sc_event m_answered;
};

/// Firmware: programs one decoder by 4-byte stores, as a boot loader would.
class Firmware final : public sc_core::sc_module {
public:
    explicit Firmware(sc_core::sc_module_name name) : sc_module(name) {}
    tlm_utils::simple_initiator_socket<Firmware> socket{"socket"};

    void store(std::uint64_t address, std::uint32_t value) {
        tlm::tlm_generic_payload payload;
        payload.set_command(tlm::TLM_WRITE_COMMAND);
        payload.set_address(address);
        payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
        payload.set_data_length(4);
        payload.set_streaming_width(4);
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        socket->b_transport(payload, delay);
        EXPECT_TRUE(payload.is_response_ok());
    }
};

class ForeignInitiatorTest : public kvplane::test::SystemCTest {
protected:
    void build(kvplane::cxl::LinkFidelity fidelity) {
        kvplane::card::CardConfig config;
        config.tier_capacity = {kSize};
        config.mem.fidelity = fidelity;
        card = std::make_unique<kvplane::card::Type3Card>("card", config,
                                                          kvplane::Bytes::from_kib(64), index);
        firmware = std::make_unique<Firmware>("firmware");
        firmware->socket.bind(card->management.socket);
    }
    Processor& add(bool four_phases) {
        const auto n = static_cast<unsigned>(processors.size());
        processors.push_back(std::make_unique<Processor>(sc_core::sc_gen_unique_name("processor"),
                                                         four_phases, kWindow + 4096 * n, n + 1));
        processors.back()->socket.bind(card->mem.socket);
        return *processors.back();
    }
    void boot() {
        firmware->store(0x1214, kWindow >> 32U);
        firmware->store(0x1218, kSize);
        firmware->store(0x1220, 1U << 12U | 1U << 9U);
        firmware->store(0x1204, 2);
        firmware->store(0x2010C, 1U << 2U);  // Mem_Enable
    }

    kvplane::index::TlmIndex index{{.sram = kvplane::Bytes::from_kib(64)}};
    std::unique_ptr<kvplane::card::Type3Card> card;
    std::unique_ptr<Firmware> firmware;
    std::vector<std::unique_ptr<Processor>> processors;
};

/// Blocking and four-phase processors at once, on neighbouring pages.
TEST_F(ForeignInitiatorTest, SmallLoadsAndStoresWorkInBothModes) {
    build(kvplane::cxl::LinkFidelity::kBurst);
    for (const bool four_phases : {false, true, true, false}) add(four_phases);
    boot();
    sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_MS));
    for (const auto& processor : processors) {
        EXPECT_TRUE(processor->done);
        EXPECT_GT(processor->loads, 1000U);
        EXPECT_EQ(processor->wrong, 0U);
        EXPECT_EQ(processor->refused, 0U);
    }
    EXPECT_GT(card->mem.core().counters().partial_writes, 4000U);
}

TEST_F(ForeignInitiatorTest, FlitsMakeNoDifferenceToTheData) {
    build(kvplane::cxl::LinkFidelity::kLine);
    add(true);
    add(true);
    boot();
    sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_MS));
    for (const auto& processor : processors) {
        EXPECT_TRUE(processor->done);
        EXPECT_EQ(processor->wrong, 0U);
    }
}

TEST_F(ForeignInitiatorTest, WithoutADecoderEverythingIsAnAddressError) {
    build(kvplane::cxl::LinkFidelity::kBurst);
    Processor& processor = add(false);
    sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_MS));
    EXPECT_TRUE(processor.done);
    EXPECT_EQ(processor.refused, 3000U);
    EXPECT_EQ(card->mem.core().counters().unmapped, 3000U);
}

}  // namespace
