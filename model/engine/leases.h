// SPDX-License-Identifier: Apache-2.0
/// Who may do what with the blocks of the tier: grants of blocks to other tenants, and pins, which
/// keep a block from being dropped until they run out. Mechanism: what is granted and pinned is the
/// host's business.
///
/// A pin is a lease with a time to live. It does not end a transfer: a transfer holds its block by
/// itself (Tier::begin_read), whatever becomes of pins, grants and owner meanwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/flat_map.h"
#include "model/common/units.h"

namespace kvplane::engine {

using TenantId = std::uint16_t;

/// Granted to this tenant, a block may be read by all.
inline constexpr TenantId kEveryTenant = 0xFFFF;

class Leases {
public:
    /// Each tenant may hold pins on blocks of `budget` bytes together.
    explicit Leases(Bytes budget) : m_budget(budget) {}

    /// Lets `tenant` read the block of `record`; false where it may already.
    bool grant(std::uint32_t record, TenantId tenant);
    /// Takes a grant back; false where there is none.
    bool revoke(std::uint32_t record, TenantId tenant);
    [[nodiscard]] bool granted(std::uint32_t record, TenantId tenant) const;

    /// Pins a block of `size` for `tenant` until `expiry`, in place of an earlier pin of his.
    /// False, and nothing changed, where his budget does not allow it.
    [[nodiscard]] bool pin(std::uint32_t record, TenantId tenant, Bytes size, Time expiry,
                           Time now);
    /// False where he has no pin.
    bool unpin(std::uint32_t record, TenantId tenant, Time now);
    [[nodiscard]] bool pinned(std::uint32_t record, Time now);
    /// Whether somebody beside its `owner` pins it without a grant of his own: as one of all.
    [[nodiscard]] bool pinned_as_all(std::uint32_t record, TenantId owner, Time now);
    [[nodiscard]] Bytes pinned_by(TenantId tenant, Time now);

    /// The block of `from` has moved to `to`.
    void move(std::uint32_t from, std::uint32_t to, Time now);
    /// The block of `record` is gone, and all pins and grants with it.
    void drop(std::uint32_t record);
    /// Times kept at which pins may run out: at most twice the pins, and kSpareTimers.
    [[nodiscard]] std::size_t timers() const { return m_expiries.size(); }
    static constexpr std::size_t kSpareTimers = 16;
    /// Forgets all.
    void clear() { *this = Leases(m_budget); }

private:
    struct Pin {
        Bytes size;
        Time expiry;
    };
    struct Expiry {
        Time at;
        std::uint64_t pin = 0;
        auto operator<=>(const Expiry&) const = default;
    };
    /// The tenants that have something of one record; few.
    struct Holders {
        std::vector<TenantId> granted;
        std::vector<TenantId> pinned;
        [[nodiscard]] bool empty() const { return granted.empty() && pinned.empty(); }
    };

    [[nodiscard]] static std::uint64_t pin_of(std::uint32_t record, TenantId tenant) {
        return std::uint64_t{record} << 16U | tenant;
    }
    [[nodiscard]] Holders& holders(std::uint32_t record);
    [[nodiscard]] const Holders* find(std::uint32_t record) const;
    void release(std::uint32_t record);
    void expire(Time now);
    void drop_old_timers();
    void end_pin(std::uint64_t pin);

    Bytes m_budget;
    std::vector<Holders> m_holders;  ///< a pool
    std::vector<std::uint32_t> m_free_holders;
    FlatMap<std::uint64_t, std::uint32_t, NumberHash> m_holders_of;  ///< by record
    FlatMap<std::uint64_t, Pin, NumberHash> m_pins;
    FlatMap<std::uint64_t, Bytes, NumberHash> m_pinned_bytes;  ///< by tenant
    std::vector<Expiry> m_expiries;  ///< a heap; some of pins that ended or were renewed too
};

}  // namespace kvplane::engine
