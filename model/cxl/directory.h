// SPDX-License-Identifier: Apache-2.0
/// HDM-DB: what the host may hold of each line of device-coherent memory, and the back-invalidate
/// snoops with which the card takes lines back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/common/flat_map.h"
#include "model/common/units.h"
#include "model/cxl/message.h"

namespace kvplane::cxl {

/// A snoop under way.
struct Snoop {
    Dpa line;
    Opcode opcode = Opcode::kBiSnpInv;
    std::uint16_t tag = 0;
    bool conflict = false;  ///< the host answered BIConflict first
};

/// Lines that were never asked for are Invalid at the host.
class Directory {
public:
    /// tags: snoops that may be under way, 1 to 4096 (12 bits).
    explicit Directory(std::uint32_t tags = 32);

    [[nodiscard]] HostState host_state(Dpa line) const;
    /// A request has been answered so that the host holds the line as `state`.
    void granted(Dpa line, HostState state);

    /// The snoop that the card needs before it reads (`write` false) or writes the line itself;
    /// nothing where the host's copy does not stand against it.
    [[nodiscard]] std::optional<Opcode> needed(Dpa line, bool write) const;

    /// Starts a snoop of one line (block snoops have encodings alone: the card takes line by line).
    /// Nothing where no tag is free, or one for this line is under way: the card tries again later.
    [[nodiscard]] std::optional<Snoop> start(Dpa line, Opcode opcode);
    /// Whether requests for the line must wait: a snoop is under way and has met no conflict.
    /// Writes (RwD) never wait.
    [[nodiscard]] bool blocks(Dpa line, Channel channel) const;

    /// The host has a request for the snooped line in flight and says so. Answer: BIConflictAck,
    /// behind every completion that the card has already sent; from then on requests for the line
    /// are let through. Nothing for a tag that is not under way, or for another line.
    [[nodiscard]] std::optional<Opcode> conflict(std::uint16_t tag, Dpa line);
    /// The host's answer ends the snoop. False for a tag that is not under way, or an opcode that
    /// does not answer it: a peer's error.
    [[nodiscard]] bool respond(std::uint16_t tag, Opcode response);

    /// What respond() would say.
    [[nodiscard]] bool takes(std::uint16_t tag, Opcode response) const;

    [[nodiscard]] std::uint32_t under_way() const { return m_under_way; }
    [[nodiscard]] std::uint64_t conflicts() const { return m_conflicts; }

    /// Forgets all lines and snoops.
    void reset();

private:
    using Lines = FlatMap<std::uint64_t, HostState, NumberHash>;
    using Snooped = FlatMap<std::uint64_t, std::uint16_t, NumberHash>;

    [[nodiscard]] const Snoop* find(std::uint16_t tag) const;

    struct Entry {
        bool used = false;
        Snoop snoop;
    };
    std::uint32_t m_tags;
    Lines m_lines;
    Snooped m_snooped;
    std::vector<Entry> m_entries;  ///< by tag
    std::uint32_t m_next_tag = 0;
    std::uint32_t m_under_way = 0;
    std::uint64_t m_conflicts = 0;
};

/// What a host pays to write its cached copies of HDM-H lines back before the card reads them, from
/// a write with write-back on a CXL 1.1 card over x16 Gen5 (p50 346 ns, one line; 3.5 GB/s, one
/// thread).
struct FlushCost {
    Time first = Time::from_ns(346);
    Time next{18'286};

    /// Time for `length` bytes from a line boundary on; zero for nothing.
    [[nodiscard]] Time of(Bytes length) const {
        const auto lines =
            static_cast<std::int64_t>((length.count + kLine.count - 1) / kLine.count);
        return lines == 0 ? Time{} : first + next * (lines - 1);
    }
};

/// Host work before the card touches `length` bytes of a region itself: HDM-H is flushed, HDM-DB is
/// snooped line by line by the card, private memory is the card's alone.
[[nodiscard]] constexpr bool host_must_flush(Region region) { return region == Region::kHdmH; }

}  // namespace kvplane::cxl
