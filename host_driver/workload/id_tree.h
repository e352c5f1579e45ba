// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvplane::workload {

/// The prefix tree of a trace's ids: a node is an id together with every id before it.
class IdTree {
public:
    using Node = std::uint32_t;
    /// The empty prompt.
    static constexpr Node kRoot = 0;

    IdTree();

    /// The child of `parent` for `id`, made where it is not there: an id stands for its own tokens,
    /// so that only the chain of ids up to it says which prefix it ends.
    [[nodiscard]] Node add(Node parent, std::uint64_t id);

    /// Another root: what is added under it shares no node with what is under others.
    [[nodiscard]] Node add_root();

    /// Nodes, the roots included.
    [[nodiscard]] std::size_t size() const { return m_nodes.size(); }

private:
    static constexpr Node kNone = UINT32_MAX;

    struct Entry {
        std::uint64_t id = 0;
        Node parent = kNone;
    };

    [[nodiscard]] Node make(Entry entry);
    [[nodiscard]] std::size_t first_slot(Node parent, std::uint64_t id) const;
    void grow();

    std::vector<Entry> m_nodes;
    std::vector<Node> m_slots;  ///< open addressing, linear probing; kRoot is an empty slot
};

}  // namespace kvplane::workload
