// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvplane::workload {

/// What a trace's ids stand for. `kContent`: an id stands for its own tokens, so that only the
/// chain of ids up to it says which prefix it ends. `kPrefix`: an id stands for the whole prompt up
/// to its end, and one that follows two different ids is a contradiction. A trace without
/// contradiction gives the same tree either way.
enum class IdMode { kContent, kPrefix };

/// The prefix tree of a trace's ids: a node is an id together with every id before it.
class IdTree {
public:
    using Node = std::uint32_t;
    /// The empty prompt.
    static constexpr Node kRoot = 0;
    /// What add() gives for a contradiction.
    static constexpr Node kNone = UINT32_MAX;

    explicit IdTree(IdMode mode);

    /// The child of `parent` for `id`, made where it is not there. kNone where ids stand for
    /// prefixes and this one is there below another parent.
    [[nodiscard]] Node add(Node parent, std::uint64_t id);

    /// Nodes, the root included.
    [[nodiscard]] std::size_t size() const { return m_nodes.size(); }

private:
    struct Entry {
        std::uint64_t id = 0;
        Node parent = kNone;
    };

    [[nodiscard]] std::size_t first_slot(Node parent, std::uint64_t id) const;
    void grow();

    IdMode m_mode;
    std::vector<Entry> m_nodes;
    std::vector<Node> m_slots;  ///< open addressing, linear probing; kRoot is an empty slot
};

}  // namespace kvplane::workload
