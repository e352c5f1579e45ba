// SPDX-License-Identifier: Apache-2.0
#include "model/cxl/directory.h"

#include "model/common/errors.h"

namespace kvplane::cxl {
namespace {

/// What the host keeps after a response; nothing where the opcode does not answer for one line.
std::optional<HostState> kept(Opcode response) {
    switch (response) {
        case Opcode::kBiRspI:
            return HostState::kInvalid;
        case Opcode::kBiRspS:
            return HostState::kShared;
        case Opcode::kBiRspE:
            return HostState::kExclusive;
        default:
            return std::nullopt;
    }
}

/// Whether the host may keep `state` after the snoop.
bool allowed(Opcode snoop, HostState state) {
    switch (snoop) {
        case Opcode::kBiSnpInv:
            return state == HostState::kInvalid;
        case Opcode::kBiSnpData:
            return state != HostState::kExclusive;
        case Opcode::kBiSnpCur:
            return true;
        default:
            return false;
    }
}

}  // namespace

Directory::Directory(std::uint32_t tags) : m_tags(tags), m_entries(tags) {}

void Directory::reset() {
    m_lines.clear();
    m_snooped.clear();
    m_entries.assign(m_tags, {});
    m_next_tag = 0;
    m_under_way = 0;
}

HostState Directory::host_state(Dpa line) const {
    const HostState* state = m_lines.find(line.value);
    return state == nullptr ? HostState::kInvalid : *state;
}

void Directory::granted(Dpa line, HostState state) {
    if (state == HostState::kUnchanged) return;
    if (state == HostState::kInvalid) {
        m_lines.erase(line.value);
        return;
    }
    if (HostState* known = m_lines.find(line.value)) {
        *known = state;
    } else {
        m_lines.insert(line.value, state);
    }
}

std::optional<Opcode> Directory::needed(Dpa line, bool write) const {
    const HostState state = host_state(line);
    if (state == HostState::kInvalid) return std::nullopt;
    if (write) return Opcode::kBiSnpInv;
    // A shared copy is clean, and so is the card's.
    return state == HostState::kExclusive ? std::optional(Opcode::kBiSnpData) : std::nullopt;
}

std::optional<Snoop> Directory::start(Dpa line, Opcode opcode) {
    if (opcode != Opcode::kBiSnpCur && opcode != Opcode::kBiSnpData &&
        opcode != Opcode::kBiSnpInv) {
        throw InvariantError("a snoop of more than one line");
    }
    if (m_under_way == m_tags || m_snooped.find(line.value) != nullptr) return std::nullopt;
    while (m_entries[m_next_tag].used) m_next_tag = (m_next_tag + 1) % m_tags;
    const auto tag = static_cast<std::uint16_t>(m_next_tag);
    m_entries[tag] = {true, {line, opcode, tag, false}};
    m_snooped.insert(line.value, tag);
    ++m_under_way;
    return m_entries[tag].snoop;
}

const Snoop* Directory::find(std::uint16_t tag) const {
    return tag < m_entries.size() && m_entries[tag].used ? &m_entries[tag].snoop : nullptr;
}

bool Directory::blocks(Dpa line, Channel channel) const {
    if (m_under_way == 0 || channel != Channel::kReq) return false;
    const std::uint16_t* tag = m_snooped.find(line.value);
    return tag != nullptr && !m_entries[*tag].snoop.conflict;
}

bool Directory::takes(std::uint16_t tag, Opcode response) const {
    const Snoop* snoop = find(tag);
    const std::optional<HostState> state = kept(response);
    return snoop != nullptr && state && allowed(snoop->opcode, *state);
}

std::optional<Opcode> Directory::conflict(std::uint16_t tag, Dpa line) {
    const Snoop* snoop = find(tag);
    if (snoop == nullptr || snoop->conflict || snoop->line != line) return std::nullopt;
    m_entries[tag].snoop.conflict = true;
    ++m_conflicts;
    return Opcode::kBiConflictAck;
}

bool Directory::respond(std::uint16_t tag, Opcode response) {
    if (!takes(tag, response)) return false;
    const Snoop& snoop = m_entries[tag].snoop;
    granted(snoop.line, *kept(response));
    m_snooped.erase(snoop.line.value);
    m_entries[tag].used = false;
    --m_under_way;
    return true;
}

}  // namespace kvplane::cxl
