// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/mem_core.h"

#include <algorithm>
#include <array>
#include <span>

#include "model/common/tlm_protocol.h"

namespace kvplane::cxl {
namespace {

constexpr std::uint64_t kLineBytes = kLine.count;

Dpa line_of(Dpa address) { return {address.value / kLineBytes * kLineBytes}; }

/// The TLM command that goes with an opcode.
tlm::tlm_command command_of(Opcode opcode) {
    switch (opcode) {
        case Opcode::kMemRd:
        case Opcode::kMemRdData:
            return tlm::TLM_READ_COMMAND;
        case Opcode::kMemWr:
        case Opcode::kMemWrPtl:
            return tlm::TLM_WRITE_COMMAND;
        default:
            return tlm::TLM_IGNORE_COMMAND;
    }
}

}  // namespace

MemCore::MemCore(const HdmConfig& hdm, LineMemoryIf& memory) : m_decoders(hdm), m_memory(memory) {}

tlm::tlm_response_status MemCore::check(const tlm::tlm_generic_payload& payload,
                                        const MemExtension* extension, Opcode& opcode) const {
    const tlm::tlm_command command = payload.get_command();
    if (extension == nullptr) {
        if (command == tlm::TLM_IGNORE_COMMAND) return tlm::TLM_COMMAND_ERROR_RESPONSE;
        opcode = Opcode::kMemRd;
        if (command == tlm::TLM_WRITE_COMMAND) {
            opcode = is_whole_line(payload) ? Opcode::kMemWr : Opcode::kMemWrPtl;
        }
    } else {
        opcode = extension->opcode;
        if (command != command_of(opcode)) return tlm::TLM_COMMAND_ERROR_RESPONSE;
        if (opcode == Opcode::kMemWr && !is_whole_line(payload)) {
            return tlm::TLM_COMMAND_ERROR_RESPONSE;
        }
    }
    if (command == tlm::TLM_IGNORE_COMMAND) return tlm::TLM_OK_RESPONSE;
    return check_line_access(payload);
}

MemOutcome MemCore::execute(tlm::tlm_generic_payload& payload) {
    payload.set_dmi_allowed(false);
    MemExtension* extension = nullptr;
    payload.get_extension(extension);
    MemOutcome outcome;
    const tlm::tlm_response_status status = check(payload, extension, outcome.opcode);
    payload.set_response_status(status);
    if (status != tlm::TLM_OK_RESPONSE) {
        ++m_counters.refused;
        return outcome;
    }
    const auto hit = m_decoders.to_dpa({payload.get_address()});
    if (!hit) {
        outside(payload, extension, outcome.opcode);
        outcome.data = payload.is_read();
        return outcome;
    }
    const auto answer = extension == nullptr
                            ? answer_to(outcome.opcode, hit->region, MetaField::kNoOp,
                                        MetaValue::kInvalid, SnpType::kNoOp)
                            : answer_to(outcome.opcode, hit->region, extension->meta_field,
                                        extension->meta_value, extension->snoop);
    outcome.line = line_of(hit->dpa);
    outcome.write = payload.is_write();
    const bool refused_write = outcome.write && !m_memory.writable(outcome.line);
    const bool no_such_device = extension != nullptr && extension->ld_id != 0;
    const bool refused = !answer || refused_write || no_such_device;
    if (refused || (outcome.opcode == Opcode::kBiConflict &&
                    !m_directory.conflict(extension->tag, outcome.line))) {
        ++(refused_write ? m_counters.refused_writes : m_counters.refused);
        payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        return outcome;
    }
    if (extension != nullptr) {
        extension->ndr = answer->ndr;
        extension->drs = answer->drs;
    }
    if (extension != nullptr && hit->region == Region::kHdmH) {
        exchange_meta(*extension, outcome.line);
    }
    outcome.access = payload.is_read() || outcome.write;
    outcome.data = answer->drs.has_value();
    outcome.answered = answer->drs || answer->ndr;
    if (hit->region == Region::kHdmDb) m_directory.granted(outcome.line, answer->host);
    if (payload.is_read()) {
        read(payload, extension, hit->dpa);
    } else if (outcome.write) {
        write(payload, extension, hit->dpa, outcome.opcode == Opcode::kMemWr);
    } else {
        ++m_counters.no_data;
    }
    return outcome;
}

/// The card keeps two bits of state a line for the host: it gives what it has and takes the new.
void MemCore::exchange_meta(MemExtension& extension, Dpa line) {
    extension.answer_meta_field = extension.meta_field;
    if (extension.meta_field == MetaField::kNoOp || extension.opcode == Opcode::kMemSpecRd) return;
    MetaValue* known = m_meta.find(line.value);
    extension.answer_meta_value = known == nullptr ? MetaValue::kAny : *known;
    if (known == nullptr) {
        m_meta.insert(line.value, extension.meta_value);
    } else {
        *known = extension.meta_value;
    }
}

bool MemCore::behind_snoop(const tlm::tlm_generic_payload& payload) const {
    if (m_directory.under_way() == 0) return false;
    const auto hit = m_decoders.to_dpa({payload.get_address()});
    const auto* extension = payload.get_extension<MemExtension>();
    const Channel channel = extension != nullptr ? channel_of(extension->opcode)
                            : payload.is_write() ? Channel::kRwD
                                                 : Channel::kReq;
    return hit && m_directory.blocks(line_of(hit->dpa), channel);
}

void MemCore::reset() {
    m_decoders.reset();
    m_directory.reset();
    m_meta.clear();
    m_viral = false;
}

void MemCore::read(tlm::tlm_generic_payload& payload, MemExtension* extension, Dpa address) {
    ++m_counters.reads;
    const std::size_t length = payload.get_data_length();
    if (payload.get_byte_enable_ptr() == nullptr) {
        m_memory.read(address, {payload.get_data_ptr(), length});
    } else {
        std::array<std::uint8_t, kLineBytes> line{};
        m_memory.read(address, {line.data(), length});
        copy_enabled(payload, line.data());
    }
    const bool contained = m_viral || !m_ready;
    if (contained) ++m_counters.contained;
    const bool poisoned = contained || m_memory.read_poison(line_of(address));
    if (extension != nullptr) extension->poison = poisoned;
    if (!poisoned) return;
    ++m_counters.poisoned;
    if (extension == nullptr) payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
}

void MemCore::write(tlm::tlm_generic_payload& payload, const MemExtension* extension, Dpa address,
                    bool whole) {
    ++(whole ? m_counters.writes : m_counters.partial_writes);
    if (m_viral || !m_ready) {
        ++m_counters.contained;
        if (extension == nullptr) payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        return;
    }
    const std::size_t length = payload.get_data_length();
    if (payload.get_byte_enable_ptr() == nullptr || whole) {
        m_memory.write(address, {payload.get_data_ptr(), length});
    } else {
        std::array<std::uint8_t, kLineBytes> line{};
        m_memory.read(address, {line.data(), length});
        copy_enabled(payload, line.data());
        m_memory.write(address, {line.data(), length});
    }
    // A whole line of good data heals; part of one does not.
    const bool poison = extension != nullptr && extension->poison;
    if (whole || poison) m_memory.set_poison(line_of(address), poison);
}

void MemCore::lose(tlm::tlm_generic_payload& payload) {
    MemExtension* extension = nullptr;
    payload.get_extension(extension);
    Opcode opcode{};
    const tlm::tlm_response_status status = check(payload, extension, opcode);
    const bool sound = status == tlm::TLM_OK_RESPONSE;
    payload.set_response_status(sound ? tlm::TLM_GENERIC_ERROR_RESPONSE : status);
    ++(sound ? m_counters.lost : m_counters.refused);
    if (!sound || !payload.is_read()) return;
    std::array<std::uint8_t, kLineBytes> ones;
    ones.fill(0xFF);
    copy_enabled(payload, ones.data());
    if (extension != nullptr) extension->poison = true;
}

void MemCore::outside(tlm::tlm_generic_payload& payload, MemExtension* extension, Opcode opcode) {
    ++m_counters.unmapped;
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    if (extension == nullptr) return;
    if (payload.is_read()) {
        std::array<std::uint8_t, kLineBytes> ones;
        ones.fill(0xFF);
        copy_enabled(payload, ones.data());
        extension->drs = Opcode::kMemDataNxm;
        extension->poison = m_decoders.poison_on_error();
    } else if (opcode != Opcode::kMemSpecRd) {
        extension->ndr = Opcode::kCmp;
    }
}

unsigned int MemCore::debug(tlm::tlm_generic_payload& payload) {
    const std::uint64_t length = payload.get_data_length();
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) return 0;
    std::uint64_t done = 0;
    while (done < length) {
        const std::uint64_t address = payload.get_address() + done;
        const auto hit = m_decoders.to_dpa({address});
        if (!hit) break;
        const std::uint64_t part = std::min(length - done, kLineBytes - address % kLineBytes);
        std::uint8_t* data = payload.get_data_ptr() + done;
        if (payload.is_read()) {
            m_memory.read(hit->dpa, {data, part});
        } else {
            m_memory.write(hit->dpa, std::span<const std::uint8_t>(data, part));
        }
        done += part;
    }
    payload.set_response_status(done == 0 ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
    return static_cast<unsigned int>(done);
}

}  // namespace kvplane::cxl
