// SPDX-License-Identifier: Apache-2.0
/// A four-phase initiator that writes and reads lines at random, stalls at random, and checks that
/// every request is answered once, by the phases of the base protocol, with the right data.
#pragma once

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <cstring>
#include <systemc>
#include <vector>

#include "model/common/event_heap.h"
#include "model/common/random.h"
#include "model/cxl/message.h"
#include "tests/support/tlm_pool.h"

namespace kvplane::cxl {

struct AtPlan {
    std::uint64_t requests = 1000;
    std::uint32_t outstanding = 16;
    std::uint64_t base = 0;   ///< of its own lines
    std::uint64_t lines = 8;  ///< few, so that requests to one line overlap
    std::uint64_t stall = 0;  ///< END_RESP and BEGIN_REQ may be late by up to this, ps
    bool extension = true;
    bool expect_errors = false;  ///< a reset may hit
    std::uint64_t seed = 1;
};

class AtInitiator final : public sc_core::sc_module {
public:
    AtInitiator(sc_core::sc_module_name name, const AtPlan& plan)
        : sc_module(name),
          m_plan(plan),
          m_random(plan.seed, "at_initiator"),
          m_pool(plan.extension),
          m_later("later"),
          m_lines(plan.lines, 0) {
        socket.register_nb_transport_bw(this, &AtInitiator::backward);
        SC_HAS_PROCESS(AtInitiator);
        SC_METHOD(run);
        sensitive << m_later.event();
    }
    tlm_utils::simple_initiator_socket<AtInitiator> socket{"socket"};

    std::uint64_t answered = 0;
    std::uint64_t errors = 0;
    std::uint64_t poisoned = 0;
    [[nodiscard]] bool finished() const { return answered == m_plan.requests; }
    [[nodiscard]] std::uint32_t held() const { return m_pool.out(); }

private:
    enum class Step : std::uint8_t { kSend, kEndResponse };
    struct Out {
        tlm::tlm_generic_payload* payload;
        std::uint64_t line;
        bool write;
    };

    void run() {
        Step step{};
        while (m_later.pop_due(step)) {
            if (step == Step::kEndResponse) end_response();
        }
        send();
    }

    /// A line holds the number of its last write, in all its bytes. Only one write of a line is
    /// under way at a time, and no read beside it, so that what a read must give is known.
    void send() {
        while (m_requesting == nullptr && m_out.size() < m_plan.outstanding &&
               m_sent < m_plan.requests) {
            const std::uint64_t line = m_random.uniform(m_plan.lines);
            const bool write = m_random.uniform(3) == 0;
            for (const Out& out : m_out) {
                if (out.line == line && (write || out.write)) return;
            }
            issue(line, write);
        }
    }

    void issue(std::uint64_t line, bool write) {
        tlm::tlm_generic_payload& payload = m_pool.take(
            write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, m_plan.base + line * 64);
        if (write) ++m_lines[line];
        std::memset(payload.get_data_ptr(), write ? m_lines[line] : 0xEE, 64);
        if (auto* extension = payload.get_extension<MemExtension>()) {
            extension->opcode = write ? Opcode::kMemWr : Opcode::kMemRd;
            extension->tag = static_cast<std::uint16_t>(m_sent);
        }
        ++m_sent;
        m_out.push_back({&payload, line, write});
        tlm::tlm_phase phase = tlm::BEGIN_REQ;
        sc_core::sc_time delay = sc_core::sc_time::from_value(stall());
        m_requesting = &payload;
        const auto status = socket->nb_transport_fw(payload, phase, delay);
        if (status == tlm::TLM_UPDATED) {
            EXPECT_EQ(phase, tlm::END_REQ);
            end_request(payload);
        } else {
            EXPECT_EQ(status, tlm::TLM_ACCEPTED);
        }
    }

    tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time& delay) {
        EXPECT_EQ(delay, sc_core::SC_ZERO_TIME);
        if (phase == tlm::END_REQ) {
            end_request(payload);
            m_later.schedule(now(), Step::kSend);
            return tlm::TLM_ACCEPTED;
        }
        EXPECT_EQ(phase, tlm::BEGIN_RESP);
        EXPECT_EQ(m_answering, nullptr) << "two responses at a time";
        if (&payload == m_requesting) end_request(payload);  // BEGIN_RESP implies END_REQ
        m_answering = &payload;
        const std::uint64_t late = stall();
        if (late == 0) {
            finish();
            m_later.schedule(now(), Step::kSend);
            phase = tlm::END_RESP;
            return tlm::TLM_COMPLETED;
        }
        m_later.schedule(now() + Time{static_cast<std::int64_t>(late)}, Step::kEndResponse);
        return tlm::TLM_ACCEPTED;
    }

    void end_request(tlm::tlm_generic_payload& payload) {
        EXPECT_EQ(&payload, m_requesting) << "END_REQ for another request";
        m_requesting = nullptr;
    }

    void end_response() {
        tlm::tlm_generic_payload& payload = *m_answering;
        payload.acquire();
        finish();
        tlm::tlm_phase phase = tlm::END_RESP;
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        EXPECT_EQ(socket->nb_transport_fw(payload, phase, delay), tlm::TLM_COMPLETED);
        payload.release();
    }

    void finish() {
        tlm::tlm_generic_payload& payload = *m_answering;
        m_answering = nullptr;
        std::size_t i = 0;
        while (i < m_out.size() && m_out[i].payload != &payload) ++i;
        ASSERT_LT(i, m_out.size()) << "an answer to a request that is not out";
        const Out out = m_out[i];
        m_out.erase(m_out.begin() + static_cast<std::ptrdiff_t>(i));
        check(payload, out);
        ++answered;
        payload.release();
    }

    void check(const tlm::tlm_generic_payload& payload, const Out& out) {
        if (const auto* extension = payload.get_extension<MemExtension>()) {
            if (extension->poison && !out.write) ++poisoned;
        }
        if (!payload.is_response_ok()) {
            ++errors;
            EXPECT_TRUE(m_plan.expect_errors) << payload.get_response_string();
            return;
        }
        if (out.write || m_plan.expect_errors) return;
        for (int b = 0; b < 64; ++b) {
            EXPECT_EQ(payload.get_data_ptr()[b], static_cast<unsigned char>(m_lines[out.line]));
        }
    }

    [[nodiscard]] std::uint64_t stall() {
        if (m_plan.stall == 0 || m_random.uniform(2) == 0) return 0;
        return m_random.uniform(m_plan.stall);
    }

    AtPlan m_plan;
    RandomStream m_random;
    test::LinePool m_pool;
    EventHeap<Step> m_later;
    std::vector<std::uint8_t> m_lines;
    std::vector<Out> m_out;
    std::uint64_t m_sent = 0;
    tlm::tlm_generic_payload* m_requesting = nullptr;
    tlm::tlm_generic_payload* m_answering = nullptr;
};

}  // namespace kvplane::cxl
