// SPDX-License-Identifier: Apache-2.0
#include "model/engine/leases.h"

#include <algorithm>
#include <functional>

#include "model/common/errors.h"

namespace kvplane::engine {
namespace {

bool contains(const std::vector<TenantId>& tenants, TenantId tenant) {
    return std::find(tenants.begin(), tenants.end(), tenant) != tenants.end();
}

bool take_out(std::vector<TenantId>& tenants, TenantId tenant) {
    return std::erase(tenants, tenant) != 0;
}

}  // namespace

Leases::Holders& Leases::holders(std::uint32_t record) {
    if (const std::uint32_t* known = m_holders_of.find(record)) return m_holders[*known];
    if (m_free_holders.empty()) {
        m_free_holders.push_back(static_cast<std::uint32_t>(m_holders.size()));
        m_holders.emplace_back();
    }
    const std::uint32_t made = m_free_holders.back();
    m_free_holders.pop_back();
    m_holders_of.insert(record, made);
    return m_holders[made];
}

const Leases::Holders* Leases::find(std::uint32_t record) const {
    const std::uint32_t* known = m_holders_of.find(record);
    return known == nullptr ? nullptr : &m_holders[*known];
}

/// Gives the holders of `record` back to the pool where there is none left.
void Leases::release(std::uint32_t record) {
    const std::uint32_t* known = m_holders_of.find(record);
    if (known == nullptr || !m_holders[*known].empty()) return;
    m_free_holders.push_back(*known);
    m_holders_of.erase(record);
}

bool Leases::grant(std::uint32_t record, TenantId tenant) {
    Holders& all = holders(record);
    if (contains(all.granted, tenant)) return false;
    all.granted.push_back(tenant);
    return true;
}

bool Leases::revoke(std::uint32_t record, TenantId tenant) {
    if (find(record) == nullptr) return false;
    const bool there = take_out(holders(record).granted, tenant);
    release(record);
    return there;
}

bool Leases::granted(std::uint32_t record, TenantId tenant) const {
    const Holders* all = find(record);
    return all != nullptr &&
           (contains(all->granted, tenant) || contains(all->granted, kEveryTenant));
}

bool Leases::pin(std::uint32_t record, TenantId tenant, Bytes size, Time expiry, Time now) {
    const std::uint64_t key = pin_of(record, tenant);
    expire(now);
    Pin* old = m_pins.find(key);
    if (old == nullptr) {
        if (pinned_by(tenant, now) + size > m_budget) return false;
        m_pins.insert(key, {size, expiry});
        m_pinned_bytes.insert(tenant, {});
        *m_pinned_bytes.find(tenant) += size;
        holders(record).pinned.push_back(tenant);
    } else {
        old->expiry = expiry;
    }
    m_expiries.push_back({expiry, key});
    std::push_heap(m_expiries.begin(), m_expiries.end(), std::greater<>{});
    drop_old_timers();
    return true;
}

/// Keeps one timer a pin where those of pins that ended or were renewed are the most.
void Leases::drop_old_timers() {
    if (m_expiries.size() <= 2 * m_pins.size() + kSpareTimers) return;
    std::erase_if(m_expiries, [&](const Expiry& timer) {
        const Pin* pin = m_pins.find(timer.pin);
        return pin == nullptr || pin->expiry != timer.at;
    });
    std::sort(m_expiries.begin(), m_expiries.end());  // in order, it is a heap
    m_expiries.erase(std::unique(m_expiries.begin(), m_expiries.end()), m_expiries.end());
}

bool Leases::unpin(std::uint32_t record, TenantId tenant, Time now) {
    expire(now);
    const std::uint64_t key = pin_of(record, tenant);
    if (m_pins.find(key) == nullptr) return false;
    end_pin(key);
    drop_old_timers();
    return true;
}

bool Leases::pinned(std::uint32_t record, Time now) {
    expire(now);
    const Holders* all = find(record);
    return all != nullptr && !all->pinned.empty();
}

bool Leases::pinned_as_all(std::uint32_t record, TenantId owner, Time now) {
    expire(now);
    const Holders* all = find(record);
    return all != nullptr &&
           std::any_of(all->pinned.begin(), all->pinned.end(), [&](TenantId tenant) {
               return tenant != owner && !contains(all->granted, tenant);
           });
}

Bytes Leases::pinned_by(TenantId tenant, Time now) {
    expire(now);
    const Bytes* bytes = m_pinned_bytes.find(tenant);
    return bytes == nullptr ? Bytes{} : *bytes;
}

void Leases::move(std::uint32_t from, std::uint32_t to, Time now) {
    expire(now);
    if (find(from) == nullptr) return;
    const Holders moved = holders(from);
    for (const TenantId tenant : moved.granted) {
        (void)revoke(from, tenant);
        (void)grant(to, tenant);
    }
    for (const TenantId tenant : moved.pinned) {
        const Pin pin_moved = *m_pins.find(pin_of(from, tenant));
        end_pin(pin_of(from, tenant));
        if (!pin(to, tenant, pin_moved.size, pin_moved.expiry, now)) {
            throw InvariantError("a pin that moves no longer fits its budget");
        }
    }
}

void Leases::drop(std::uint32_t record) {
    if (find(record) == nullptr) return;
    const Holders all = holders(record);
    for (const TenantId tenant : all.pinned) end_pin(pin_of(record, tenant));
    drop_old_timers();
    if (find(record) == nullptr) return;
    holders(record).granted.clear();
    release(record);
}

void Leases::expire(Time now) {
    while (!m_expiries.empty() && m_expiries.front().at <= now) {
        const Expiry due = m_expiries.front();
        std::pop_heap(m_expiries.begin(), m_expiries.end(), std::greater<>{});
        m_expiries.pop_back();
        const Pin* pin = m_pins.find(due.pin);
        if (pin != nullptr && pin->expiry == due.at) end_pin(due.pin);
    }
}

void Leases::end_pin(std::uint64_t pin) {
    const auto record = static_cast<std::uint32_t>(pin >> 16U);
    const auto tenant = static_cast<TenantId>(pin);
    *m_pinned_bytes.find(tenant) -= m_pins.find(pin)->size;
    m_pins.erase(pin);
    take_out(holders(record).pinned, tenant);
    release(record);
}

}  // namespace kvplane::engine
