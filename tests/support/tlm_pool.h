// SPDX-License-Identifier: Apache-2.0
/// Payloads for tests: one set up in place, and lines from a pool, with a sticky CXL.mem extension
/// where asked for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <tlm>
#include <vector>

#include "model/cxl/message.h"

namespace kvplane::test {

/// Makes `payload` an access of `length` bytes at `data`, without byte enables.
inline void set_up(tlm::tlm_generic_payload& payload, tlm::tlm_command command,
                   std::uint64_t address, void* data, std::size_t length) {
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(static_cast<unsigned char*>(data));
    payload.set_data_length(static_cast<unsigned>(length));
    payload.set_streaming_width(static_cast<unsigned>(length));
    payload.set_byte_enable_ptr(nullptr);
    payload.set_byte_enable_length(0);
    payload.set_dmi_allowed(false);
    payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
}

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
        set_up(payload, command, address, payload.get_data_ptr(), 64);
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
