// SPDX-License-Identifier: Apache-2.0
#include "host_driver/workload/id_tree.h"

#include "model/common/errors.h"

namespace kvplane::workload {
namespace {

constexpr std::size_t kFirstSlots = 1024;

}  // namespace

IdTree::IdTree() : m_nodes(1), m_slots(kFirstSlots, kRoot) {}

std::size_t IdTree::first_slot(Node parent, std::uint64_t id) const {
    std::uint64_t hash = id * 0x9e3779b97f4a7c15ULL ^ (parent + 1ULL) * 0xd1342543de82ef95ULL;
    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93ULL;
    return (hash ^ (hash >> 32)) & (m_slots.size() - 1);
}

IdTree::Node IdTree::add(Node parent, std::uint64_t id) {
    std::size_t slot = first_slot(parent, id);
    for (; m_slots[slot] != kRoot; slot = (slot + 1) & (m_slots.size() - 1)) {
        const Node node = m_slots[slot];
        const Entry& entry = m_nodes[node];
        if (entry.id == id && entry.parent == parent) return node;
    }
    const Node node = make({id, parent});
    m_slots[slot] = node;
    if (2 * m_nodes.size() > m_slots.size()) grow();
    return node;
}

IdTree::Node IdTree::add_root() { return make({}); }

IdTree::Node IdTree::make(Entry entry) {
    if (m_nodes.size() >= kNone) throw InvariantError("IdTree: too many nodes");
    m_nodes.push_back(entry);
    return static_cast<Node>(m_nodes.size() - 1);
}

void IdTree::grow() {
    m_slots.assign(2 * m_slots.size(), kRoot);
    for (std::size_t node = 1; node < m_nodes.size(); ++node) {
        if (m_nodes[node].parent == kNone) continue;  // a root
        std::size_t slot = first_slot(m_nodes[node].parent, m_nodes[node].id);
        while (m_slots[slot] != kRoot) slot = (slot + 1) & (m_slots.size() - 1);
        m_slots[slot] = static_cast<Node>(node);
    }
}

}  // namespace kvplane::workload
