// SPDX-License-Identifier: Apache-2.0
/// The shim around one verilated top. For files of verilated libraries only.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <typeinfo>

#include "tb/plugin/lookup_dut.h"
#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

namespace kvplane::rtl {

/// Top: a verilated lookup_engine. Base: MetaLookupDut, or an interface that adds to it.
template <class Top, class Base = MetaLookupDut>
class DutOf : public Base {
public:
    DutOf() { DutOf::reset(); }
    DutOf(const DutOf&) = delete;
    DutOf& operator=(const DutOf&) = delete;
    // Two models with contexts of their own: Verilator 5.006 reaches for the thread's context when
    // one goes, which must not be that of a model that went before.
    ~DutOf() override {
        Verilated::threadContextp(&m_context);
        m_top.final();
#if VM_COVERAGE
        if (const char* folder = std::getenv("KVPLANE_COVERAGE")) {
            static int written = 0;
            const std::string file =
                std::string(folder) + "/" + typeid(Top).name() + std::to_string(written++) + ".dat";
            m_context.coveragep()->write(file.c_str());
        }
#endif
    }

    void reset() override {
        m_top.rst_ni = 0;
        for (int i = 0; i < 2; ++i) {
            (void)DutOf::settle({});
            DutOf::posedge();
        }
        m_top.rst_ni = 1;
    }

    DutOutputs settle(const DutInputs& in) override {
        m_top.clk_i = 0;
        m_top.req_valid_i = in.request_valid;
        if (in.request_valid) {
            m_top.req_op_i = static_cast<CData>(in.request.operation);
            m_top.req_id_i = in.id;
            m_top.req_key_i = in.request.key;
            put(m_top.req_entry_i, in.request.entry);
            m_top.req_mask_i = in.request.mask;
            m_top.req_expect_version_i = in.request.expect_version;
            m_top.req_expect_valid_i = in.request.expect_valid;
        }
        m_top.rsp_ready_i = in.response_ready;
        m_top.reg_valid_i = in.register_valid;
        m_top.reg_write_i = in.register_write;
        m_top.reg_address_i = in.register_address;
        m_top.reg_data_i = in.register_data;
        m_top.reg_ready_i = in.register_answer_ready;
        m_top.eval();
        return outputs();
    }

    void posedge() override {
        m_top.clk_i = 1;
        m_top.eval();
        ++m_cycles;
    }

    [[nodiscard]] std::uint64_t cycles() const override { return m_cycles; }

protected:
    Top& top() { return m_top; }
    VerilatedContext& context() { return m_context; }

private:
    using Words = std::array<std::uint32_t, 4>;

    static void put(VlWide<4>& pins, const index::Entry& entry) {
        const auto words = std::bit_cast<Words>(entry);
        for (std::size_t i = 0; i < words.size(); ++i) pins[i] = words[i];
    }
    static index::Entry get(const VlWide<4>& pins) {
        return std::bit_cast<index::Entry>(Words{pins[0], pins[1], pins[2], pins[3]});
    }

    DutOutputs outputs() {
        DutOutputs out;
        out.request_ready = m_top.req_ready_o != 0;
        out.response_valid = m_top.rsp_valid_o != 0;
        if (out.response_valid) {
            out.id = m_top.rsp_id_o;
            out.answer = {.status = static_cast<index::Status>(m_top.rsp_status_o),
                          .corrected = m_top.rsp_corrected_o != 0,
                          .uncorrectable = m_top.rsp_uncorrectable_o != 0,
                          .entry = get(m_top.rsp_entry_o)};
        }
        out.register_ready = m_top.reg_ready_o != 0;
        out.register_answer_valid = m_top.reg_valid_o != 0;
        out.register_data = m_top.reg_data_o;
        out.register_error = m_top.reg_error_o != 0;
        out.stash = m_top.stash_count_o;
        out.idle = m_top.idle_o != 0;
        return out;
    }

    VerilatedContext m_context;  // before the model, which refers to it
    Top m_top{&m_context, "lookup_engine"};
    std::uint64_t m_cycles = 0;
};

}  // namespace kvplane::rtl
