// SPDX-License-Identifier: Apache-2.0
#include "model/memory/address_map.h"

#include <bit>
#include <charconv>

#include "model/common/errors.h"

namespace kvplane::memory {
namespace {

struct Named {
    const char* name;
    const char* order;
};

constexpr std::array<Named, 5> kNamed{{{"mop4", "row rank column bank group column2"},
                                       {"mop4-xor", "row rank column bank group column2 xor"},
                                       {"row-bank-column", "row bank group rank column"},
                                       {"bank-interleave", "row column rank bank group"},
                                       {"bank-row-column", "rank bank group row column"}}};

constexpr std::array<std::string_view, 5> kWords{"row", "rank", "bank", "group", "column"};
constexpr std::string_view kColumn = "column";

std::uint32_t log2(std::uint32_t power) {
    return static_cast<std::uint32_t>(std::bit_width(power)) - 1;
}

[[noreturn]] void fail(std::string_view order, const std::string& message) {
    throw UserError("dram mapping '" + std::string(order) + "': " + message);
}

}  // namespace

const std::array<const char*, 5>& AddressMap::names() {
    static constexpr std::array<const char*, 5> kNames{
        {kNamed[0].name, kNamed[1].name, kNamed[2].name, kNamed[3].name, kNamed[4].name}};
    return kNames;
}

AddressMap::AddressMap(std::string_view order, const DramGeometry& geometry)
    : m_width{log2(geometry.rows), log2(geometry.ranks), log2(geometry.banks),
              log2(geometry.groups), log2(geometry.lines_per_row)} {
    std::string_view rest = order;
    for (const Named& named : kNamed) {
        if (order == named.name) rest = named.order;
    }
    while (!rest.empty()) {
        const std::size_t space = std::min(rest.find(' '), rest.size());
        if (space != 0) add(rest.substr(0, space), order);
        rest.remove_prefix(std::min(space + 1, rest.size()));
    }
    settle(order);
}

void AddressMap::add(std::string_view word, std::string_view order) {
    if (m_hash) fail(order, "xor comes last");
    if (word == "xor") {
        m_hash = true;
        return;
    }
    if (m_count == m_slices.size()) fail(order, "too many words");
    for (std::uint32_t f = 0; f < kFields; ++f) {
        if (word == kWords[f]) {
            m_slices[m_count++] = {static_cast<Field>(f), 0, 0, m_width[f]};
            return;
        }
    }
    std::uint32_t bits = 0;
    if (word.starts_with(kColumn)) {
        const char* end = word.data() + word.size();
        const auto parsed = std::from_chars(word.data() + kColumn.size(), end, bits);
        if (parsed.ptr != end) bits = 0;
    }
    if (bits == 0 || bits >= m_width[static_cast<std::size_t>(Field::kColumn)]) {
        fail(order, "'" + std::string(word) +
                        "' is none of row, rank, bank, group, column, columnN with N below the "
                        "column's bits, xor");
    }
    m_slices[m_count++] = {Field::kColumn, 0, 0, bits};
}

/// Gives each slice its place, and checks that each field is there once.
void AddressMap::settle(std::string_view order) {
    std::array<std::uint32_t, kFields> named{};
    std::array<std::uint32_t, kFields> low{};
    std::uint32_t shift = 0;
    const std::uint32_t columns = m_width[static_cast<std::size_t>(Field::kColumn)];
    for (std::uint32_t i = m_count; i != 0; --i) {
        Slice& slice = m_slices[i - 1];
        const auto field = static_cast<std::size_t>(slice.field);
        // Of a column in two parts, the one named `column` holds what the other leaves.
        if (slice.field == Field::kColumn && slice.bits == columns) {
            for (std::uint32_t j = 0; j < m_count; ++j) {
                const Slice& other = m_slices[j];
                if (j == i - 1 || other.field != Field::kColumn || other.bits == columns) continue;
                if (j < i - 1) fail(order, "columnN are the low bits: it comes after column");
                slice.bits = columns - other.bits;
            }
        }
        slice.shift = shift;
        slice.field_low = low[field];
        low[field] += slice.bits;
        shift += slice.bits;
        ++named[field];
    }
    for (std::uint32_t f = 0; f < kFields; ++f) {
        if (named[f] == 0) fail(order, std::string(kWords[f]) + " is missing");
        if (low[f] != m_width[f] || named[f] > (f == kFields - 1 ? 2U : 1U)) {
            fail(order, std::string(kWords[f]) + " must be named once");
        }
    }
}

std::uint64_t AddressMap::hash(std::uint64_t row) const { return m_hash ? row : 0; }

DramPlace AddressMap::place(std::uint64_t line) const {
    Values values{};
    for (std::uint32_t i = 0; i < m_count; ++i) {
        const Slice& slice = m_slices[i];
        const std::uint64_t part = line >> slice.shift & ((std::uint64_t{1} << slice.bits) - 1);
        values[static_cast<std::size_t>(slice.field)] |= part << slice.field_low;
    }
    const auto& [row, rank, bank, group, column] = values;
    const std::uint32_t group_bits = m_width[static_cast<std::size_t>(Field::kGroup)];
    const std::uint32_t bank_bits = m_width[static_cast<std::size_t>(Field::kBank)];
    const std::uint64_t fold = hash(row);
    const std::uint64_t hashed_group = group ^ (fold & ((1U << group_bits) - 1));
    const std::uint64_t hashed_bank = bank ^ (fold >> group_bits & ((1U << bank_bits) - 1));
    return {
        static_cast<std::uint32_t>((rank << group_bits | hashed_group) << bank_bits | hashed_bank),
        static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column)};
}

std::uint64_t AddressMap::line(const DramPlace& place) const {
    const std::uint32_t group_bits = m_width[static_cast<std::size_t>(Field::kGroup)];
    const std::uint32_t bank_bits = m_width[static_cast<std::size_t>(Field::kBank)];
    const std::uint64_t fold = hash(place.row);
    const std::uint64_t bank = place.bank & ((1U << bank_bits) - 1);
    const std::uint64_t group = place.bank >> bank_bits & ((1U << group_bits) - 1);
    Values values{};
    values[static_cast<std::size_t>(Field::kRow)] = place.row;
    values[static_cast<std::size_t>(Field::kRank)] = place.bank >> (bank_bits + group_bits);
    values[static_cast<std::size_t>(Field::kGroup)] = group ^ (fold & ((1U << group_bits) - 1));
    values[static_cast<std::size_t>(Field::kBank)] =
        bank ^ (fold >> group_bits & ((1U << bank_bits) - 1));
    values[static_cast<std::size_t>(Field::kColumn)] = place.column;
    std::uint64_t line = 0;
    for (std::uint32_t i = 0; i < m_count; ++i) {
        const Slice& slice = m_slices[i];
        const std::uint64_t part =
            values[static_cast<std::size_t>(slice.field)] >> slice.field_low &
            ((std::uint64_t{1} << slice.bits) - 1);
        line |= part << slice.shift;
    }
    return line;
}

}  // namespace kvplane::memory
