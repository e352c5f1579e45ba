// SPDX-License-Identifier: Apache-2.0
/// What the TLM-2.0 targets of the model share: the rules of the base protocol, and accesses that
/// lie inside one line of 64 B. A breach of the protocol is an SC_REPORT_ERROR of kTlmProtocol;
/// where reports do not throw, the call changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <systemc>
#include <tlm>

#include "model/common/units.h"

namespace kvplane {

inline constexpr const char* kTlmProtocol = "/kvplane/tlm/protocol";

/// BEGIN_REQ: what to return where it breaks a rule, nothing where it is sound. `waiting`: an
/// earlier request of this initiator has not ended.
[[nodiscard]] inline std::optional<tlm::tlm_sync_enum> refuse_begin(
    tlm::tlm_generic_payload& payload, bool waiting) {
    if (waiting) {
        SC_REPORT_ERROR(kTlmProtocol, "BEGIN_REQ before the last request has ended");
        return tlm::TLM_ACCEPTED;
    }
    if (!payload.has_mm()) {
        SC_REPORT_ERROR(kTlmProtocol, "nb_transport needs a payload with a memory manager");
        payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        return tlm::TLM_COMPLETED;
    }
    return std::nullopt;
}

/// END_RESP: whether it breaks a rule. `answering`: the payload whose response is under way and has
/// not been ended, nullptr where there is none.
[[nodiscard]] inline bool refuse_end(const tlm::tlm_generic_payload& payload,
                                     const tlm::tlm_generic_payload* answering) {
    if (answering == &payload) return false;
    SC_REPORT_ERROR(kTlmProtocol, "END_RESP for a payload that has no response under way");
    return true;
}

/// Any other phase: those of targets are reported, those of other protocols ignored, as the base
/// protocol asks.
[[nodiscard]] inline tlm::tlm_sync_enum refuse_phase(const tlm::tlm_phase& phase) {
    if (phase == tlm::END_REQ || phase == tlm::BEGIN_RESP) {
        SC_REPORT_ERROR(kTlmProtocol, "a phase of targets came from an initiator");
    }
    return tlm::TLM_ACCEPTED;
}

/// Whether an access may be one of a line: TLM_BYTE_ENABLE_ERROR for enables of no length,
/// TLM_BURST_ERROR for one that is empty, streams, or crosses a line.
[[nodiscard]] inline tlm::tlm_response_status check_line_access(
    const tlm::tlm_generic_payload& payload) {
    const std::uint64_t length = payload.get_data_length();
    if (payload.get_byte_enable_ptr() != nullptr && payload.get_byte_enable_length() == 0) {
        return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
    }
    if (length == 0 || payload.get_address() % kLine.count + length > kLine.count ||
        payload.get_streaming_width() < length) {
        return tlm::TLM_BURST_ERROR_RESPONSE;
    }
    return tlm::TLM_OK_RESPONSE;
}

/// Of a payload with byte enables or without.
[[nodiscard]] inline bool byte_enabled(const tlm::tlm_generic_payload& payload, std::size_t i) {
    const unsigned char* enables = payload.get_byte_enable_ptr();
    return enables == nullptr || enables[i % payload.get_byte_enable_length()] == TLM_BYTE_ENABLED;
}

/// Whether all 64 bytes of a line are meant.
[[nodiscard]] inline bool is_whole_line(const tlm::tlm_generic_payload& payload) {
    if (payload.get_data_length() != kLine.count) return false;
    for (std::size_t i = 0; payload.get_byte_enable_ptr() != nullptr && i < kLine.count; ++i) {
        if (!byte_enabled(payload, i)) return false;
    }
    return true;
}

/// Copies what is enabled: of a read from `bytes` into the payload, of a write the other way.
/// `bytes` stands for the payload's data, byte by byte.
inline void copy_enabled(tlm::tlm_generic_payload& payload, std::uint8_t* bytes) {
    std::uint8_t* data = payload.get_data_ptr();
    for (std::size_t i = 0; i < payload.get_data_length(); ++i) {
        if (!byte_enabled(payload, i)) continue;
        if (payload.is_read()) {
            data[i] = bytes[i];
        } else {
            bytes[i] = data[i];
        }
    }
}

}  // namespace kvplane
