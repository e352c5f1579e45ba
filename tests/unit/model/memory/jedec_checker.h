// SPDX-License-Identifier: Apache-2.0
/// Watches the commands of one DRAM subchannel and knows nothing but the rules of the standard: its
/// own numbers, in nanoseconds and least cycles, and a brute-force comparison of each command with
/// all that came shortly before. It shares no timing with the model.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "model/memory/ddr5_config.h"
#include "model/memory/dram_banks.h"

namespace kvplane::test {

class JedecChecker final : public memory::DramObserver {
public:
    /// What the checker must be told: the speed bin, where banks are, and which refreshes are due.
    JedecChecker(memory::DramPreset preset, const memory::DramGeometry& geometry,
                 memory::DramRefreshMode mode, bool double_refresh = false);

    void command(const memory::DramCommand& command) override;

    /// One sentence for each command that came too early, the first twenty of them.
    [[nodiscard]] const std::vector<std::string>& violations() const { return m_violations; }
    [[nodiscard]] std::uint64_t commands() const { return m_commands; }
    /// Refreshes that a rank owes at `now`, beyond those that may be put off.
    [[nodiscard]] bool refreshed_enough(memory::Cycle now) const;

private:
    struct Rules {
        memory::Cycle cl, cwl, rcd, rp, ras, rc, burst, ccd_s, ccd_l, ccd_l_wr, rrd_s, rrd_l, faw,
            wtr_s, wtr_l, rtp, wr, ppd, rfc, rfc_sb, refsb_rd, refi, long_command, postponed;
    };
    static Rules rules_of(memory::DramPreset preset, memory::DramRefreshMode mode);

    void check_pairs(const memory::DramCommand& command);
    void check_state(const memory::DramCommand& command);
    void check_four_activates(const memory::DramCommand& command);
    void check_buses(const memory::DramCommand& command);
    void apply(const memory::DramCommand& command);
    /// The least distance between two commands, and which rule asks for it.
    struct Distance {
        memory::Cycle cycles = 0;
        const char* rule = "";
    };
    [[nodiscard]] Distance distance(const memory::DramCommand& a,
                                    const memory::DramCommand& b) const;
    [[nodiscard]] Distance after_column(const memory::DramCommand& a,
                                        const memory::DramCommand& b) const;
    [[nodiscard]] Distance after_activate(const memory::DramCommand& a,
                                          const memory::DramCommand& b) const;
    [[nodiscard]] Distance after_refresh(const memory::DramCommand& a,
                                         const memory::DramCommand& b) const;
    [[nodiscard]] bool touches(const memory::DramCommand& wide, std::uint32_t bank) const;
    [[nodiscard]] bool share_a_bank(const memory::DramCommand& a,
                                    const memory::DramCommand& b) const;
    [[nodiscard]] std::uint32_t rank(std::uint32_t bank) const {
        return bank / m_geometry.rank_banks();
    }
    [[nodiscard]] std::uint32_t group(std::uint32_t bank) const { return bank / m_geometry.banks; }
    void fail(const memory::DramCommand& command, const std::string& why);

    Rules m_rules;
    memory::DramGeometry m_geometry;
    std::deque<memory::DramCommand> m_recent;
    std::vector<std::int64_t> m_open;                    ///< row of each bank, -1: closed
    std::vector<std::deque<memory::Cycle>> m_activates;  ///< of each rank, the last four
    std::vector<std::uint64_t> m_refreshes;              ///< of each rank
    std::vector<memory::Cycle> m_last_refresh;           ///< of each rank
    memory::Cycle m_bus_free = 0;
    memory::Cycle m_data_free = 0;
    std::uint64_t m_commands = 0;
    std::vector<std::string> m_violations;
};

}  // namespace kvplane::test
