// SPDX-License-Identifier: Apache-2.0
/// When each command may next be given to each bank of a subchannel. Ready times, kept per bank and
/// per bank group (what rank and data bus ask is folded into the groups), moved by each command.
#pragma once

#include <array>
#include <cstdint>

#include "model/memory/dram_timing.h"

namespace kvplane::memory {

enum class DramCommandKind : std::uint8_t {
    kActivate,
    kRead,
    kWrite,
    kPrecharge,
    kPrechargeAll,   ///< all banks of a rank
    kPrechargeSame,  ///< one bank of each group of a rank
    kRefreshAll,
    kRefreshSame
};

/// One command on the command bus, as an observer sees it.
struct DramCommand {
    Cycle at = 0;
    DramCommandKind kind = DramCommandKind::kActivate;
    std::uint32_t bank =
        0;  ///< flat; of a rank its first bank; of one bank of each group, the first
    std::uint32_t row = 0;  ///< of kActivate, kRead and kWrite
    /// Of kRefreshAll and kRefreshSame: so many of them, `spacing` apart, the last one at `at`.
    /// What an idle rank did is reported in one piece.
    std::uint64_t count = 1;
    Cycle spacing = 0;
};

/// Watches every command, for tests and waveforms.
class DramObserver {
public:
    virtual ~DramObserver() = default;
    virtual void command(const DramCommand& command) = 0;
};

/// A set of up to 128 banks.
struct BankMask {
    std::array<std::uint64_t, 2> word{};

    void set(std::uint32_t bank) { word[bank >> 6U] |= std::uint64_t{1} << (bank & 63U); }
    void clear(std::uint32_t bank) { word[bank >> 6U] &= ~(std::uint64_t{1} << (bank & 63U)); }
    [[nodiscard]] bool test(std::uint32_t bank) const {
        return (word[bank >> 6U] >> (bank & 63U) & 1U) != 0;
    }
};

class DramBanks {
public:
    static constexpr std::uint32_t kMostBanks = 128;
    static constexpr std::int32_t kClosed = -1;

    DramBanks(const DramTiming& timing, const DramGeometry& geometry, bool writes_modify);

    [[nodiscard]] std::int32_t open_row(std::uint32_t bank) const { return m_banks[bank].row; }
    /// What the bank itself asks: of kActivate, kRead, kWrite and kPrecharge.
    [[nodiscard]] Cycle bank_ready(DramCommandKind kind, std::uint32_t bank) const {
        const Bank& b = m_banks[bank];
        if (kind == DramCommandKind::kActivate) return b.activate;
        return kind == DramCommandKind::kPrecharge ? b.precharge : b.column;
    }
    /// What bank group, rank and data bus ask.
    [[nodiscard]] Cycle group_ready(DramCommandKind kind, std::uint32_t group) const {
        return m_groups[group].ready[static_cast<std::size_t>(kind)];
    }
    [[nodiscard]] std::uint32_t group_of(std::uint32_t bank) const {
        return bank / m_geometry.banks;
    }
    [[nodiscard]] std::uint32_t rank_of(std::uint32_t bank) const {
        return bank / m_geometry.rank_banks();
    }

    void activate(Cycle at, std::uint32_t bank, std::uint32_t row);
    void read(Cycle at, std::uint32_t bank);
    void write(Cycle at, std::uint32_t bank);
    void precharge(Cycle at, std::uint32_t bank);
    /// One command that closes several banks of a rank.
    void precharge(Cycle at, std::uint32_t rank, const BankMask& banks);
    /// The banks are busy for `time`, the others of their rank open no row for `others`.
    void refresh(Cycle at, std::uint32_t rank, const BankMask& banks, Cycle time, Cycle others);

    /// At least so many cycles between two RD or WR, for a bandwidth cap. 0: as the timing says.
    void set_column_gap(Cycle gap) { m_column_gap = gap; }

private:
    struct Bank {
        Cycle activate = 0;
        Cycle column = 0;
        Cycle precharge = 0;
        std::int32_t row = kClosed;
    };
    struct Group {
        std::array<Cycle, 4> ready{};  ///< kActivate, kRead, kWrite, kPrecharge
    };
    struct Rank {
        std::array<Cycle, 4> activated{};  ///< the last four ACT: a ring
        std::uint32_t next = 0;
    };

    void after_column(Cycle at, std::uint32_t bank, bool is_write);

    DramTiming m_timing;
    DramGeometry m_geometry;
    Cycle m_write_to_write;  ///< same bank group
    Cycle m_column_gap = 0;
    std::array<Bank, kMostBanks> m_banks{};
    std::array<Group, kMostBanks / 2> m_groups{};
    std::array<Rank, 4> m_ranks{};
};

}  // namespace kvplane::memory
