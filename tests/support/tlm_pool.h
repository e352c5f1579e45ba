// SPDX-License-Identifier: Apache-2.0
/// Generic payloads of one line from a pool, with a sticky CXL.mem extension where asked for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <tlm>
#include <vector>

#include "model/cxl/message.h"

namespace kvplane::test {

class LinePool final : public tlm::tlm_mm_interface {
public:
    explicit LinePool(bool with_extension) : m_with_extension(with_extension) {}

    /// A payload with one reference, for a whole line.
    tlm::tlm_generic_payload& take(tlm::tlm_command command, std::uint64_t address) {
        if (m_free.empty()) m_free.push_back(make());
        tlm::tlm_generic_payload& payload = *m_free.back();
        m_free.pop_back();
        ++m_out;
        payload.acquire();
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_length(64);
        payload.set_streaming_width(64);
        payload.set_byte_enable_ptr(nullptr);
        payload.set_byte_enable_length(0);
        payload.set_dmi_allowed(false);
        payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        return payload;
    }
    void free(tlm::tlm_generic_payload* payload) override {
        --m_out;
        payload->reset();
        if (auto* extension = payload->get_extension<cxl::MemExtension>()) extension->reset();
        m_free.push_back(payload);
    }
    /// Payloads that somebody still holds.
    [[nodiscard]] std::uint32_t out() const { return m_out; }

private:
    struct Line {
        explicit Line(tlm::tlm_mm_interface* pool) : payload(pool) {}
        tlm::tlm_generic_payload payload;
        std::array<unsigned char, 64> data{};
        cxl::MemExtension extension;
        ~Line() { payload.clear_extension(&extension); }
    };

    tlm::tlm_generic_payload* make() {
        m_lines.push_back(std::make_unique<Line>(this));
        Line& line = *m_lines.back();
        line.payload.set_data_ptr(line.data.data());
        if (m_with_extension) line.payload.set_extension(&line.extension);
        return &line.payload;
    }

    bool m_with_extension;
    std::vector<std::unique_ptr<Line>> m_lines;
    std::vector<tlm::tlm_generic_payload*> m_free;
    std::uint32_t m_out = 0;
};

}  // namespace kvplane::test
