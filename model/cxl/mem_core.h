// SPDX-License-Identifier: Apache-2.0
/// What a CXL.mem request does, apart from when: decoding, checks, bytes, poison and the answer.
/// LT and AT share it.
#pragma once

#include <cstdint>
#include <tlm>

#include "model/common/flat_map.h"
#include "model/common/units.h"
#include "model/cxl/directory.h"
#include "model/cxl/hdm_decoder.h"
#include "model/cxl/line_memory_if.h"
#include "model/cxl/message.h"

namespace kvplane::cxl {

struct MemCounters {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t partial_writes = 0;
    std::uint64_t no_data = 0;         ///< MemInv and its like
    std::uint64_t unmapped = 0;        ///< outside the committed windows
    std::uint64_t refused = 0;         ///< not a legal request
    std::uint64_t refused_writes = 0;  ///< into what the host must not overwrite
    std::uint64_t poisoned = 0;        ///< reads answered with poison
    std::uint64_t contained = 0;       ///< answered while viral or not ready
    std::uint64_t lost = 0;            ///< by a link that is down
};

/// What came of a request.
struct MemOutcome {
    Opcode opcode = Opcode::kMemRd;
    Dpa line;
    bool access = false;  ///< the memory is accessed
    bool write = false;
    bool data = false;     ///< the answer carries data
    bool answered = true;  ///< false for MemSpecRd
};

class MemCore {
public:
    MemCore(const HdmConfig& hdm, LineMemoryIf& memory);

    /// Carries the request out and sets its response: TLM_BURST_ERROR for an access that crosses a
    /// line or streams, TLM_ADDRESS_ERROR outside the map (with an extension: MemData-NXM and all
    /// ones), TLM_COMMAND_ERROR for a command that does not go with the opcode,
    /// TLM_GENERIC_ERROR for undefined fields, for a logical device that is not there (only LD-ID 0
    /// is), for writes into protected lines, for a BIConflict whose tag is no snoop of its line,
    /// and, without an extension to carry it, for poison. A refused request changes nothing.
    MemOutcome execute(tlm::tlm_generic_payload& payload);

    /// The request does not reach the card, and changes nothing: TLM_GENERIC_ERROR, a read has all
    /// ones, with poison where there is an extension.
    void lose(tlm::tlm_generic_payload& payload);

    /// Reads or writes without side effects: any length, across lines; returns the bytes done,
    /// which end where the map does.
    unsigned int debug(tlm::tlm_generic_payload& payload);

    /// Whether a request must wait because the card is snooping its line.
    [[nodiscard]] bool behind_snoop(const tlm::tlm_generic_payload& payload) const;

    /// As after power-on, but for memory and counters.
    void reset();

    [[nodiscard]] HdmDecoders& decoders() { return m_decoders; }
    [[nodiscard]] Directory& directory() { return m_directory; }
    [[nodiscard]] const MemCounters& counters() const { return m_counters; }

    /// Viral: reads answer with poison and writes are dropped until a reset.
    void set_viral(bool viral) { m_viral = viral; }
    [[nodiscard]] bool viral() const { return m_viral; }
    /// Before its media is ready the card answers as if viral.
    void set_media_ready(bool ready) { m_ready = ready; }
    [[nodiscard]] bool media_ready() const { return m_ready; }

private:
    [[nodiscard]] tlm::tlm_response_status check(const tlm::tlm_generic_payload& payload,
                                                 const MemExtension* extension,
                                                 Opcode& opcode) const;
    void read(tlm::tlm_generic_payload& payload, MemExtension* extension, Dpa address);
    void write(tlm::tlm_generic_payload& payload, const MemExtension* extension, Dpa address,
               bool whole);
    void outside(tlm::tlm_generic_payload& payload, MemExtension* extension, Opcode opcode);

    void exchange_meta(MemExtension& extension, Dpa line);

    using Meta = FlatMap<std::uint64_t, MetaValue, NumberHash>;

    HdmDecoders m_decoders;
    Meta m_meta;  ///< of HDM-H lines; Any where the host has never said
    Directory m_directory;
    LineMemoryIf& m_memory;
    MemCounters m_counters;
    bool m_viral = false;
    bool m_ready = true;
};

}  // namespace kvplane::cxl
