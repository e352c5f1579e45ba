// SPDX-License-Identifier: Apache-2.0
/// `kvplane validate`: the model against numbers that are not its own.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "explore/run_config.h"

namespace kvplane::explore {

/// One number of the model beside its reference.
struct ValidationRow {
    std::string id;      ///< "V4-t1-90:10-bypass": point, table of the arithmetic, case
    std::string source;  ///< where the reference is from
    std::string kind;    ///< silicon, vendor, simulator, arithmetic, prototype
    double reference_low = 0;
    double reference_high = 0;  ///< equal to reference_low where the reference is one number
    double model = 0;
    double tolerance = 0;   ///< of error(), as a fraction
    bool held_out = false;  ///< no parameter was set with the reference in sight
    std::string reason;     ///< why a row that does not hold is excused; empty otherwise
    double excused = 0;     ///< the error that the reason covers, within kExcuse

    /// How far the model lies outside the reference, as a signed fraction of its nearer end.
    [[nodiscard]] double error() const;
    [[nodiscard]] bool holds() const;
    /// It holds, or is off by what its reason covers and no more.
    [[nodiscard]] bool passes() const;
};

/// How far a row's error may be from the one that is excused.
inline constexpr double kExcuse = 0.01;

/// A point of a card's loaded-latency curves: of the model, or of a reference beside it.
struct LoadedLatencyPoint {
    std::string card;    ///< the card's file, without its ending
    std::string series;  ///< "90 % reads"; of a reference, who measured
    std::string loop;    ///< open or closed, and its limit of lines in flight; empty: a reference
    double offered_gb_s = 0;  ///< open loop only
    double gb_s = 0;          ///< reads and writes
    double mean_ns = 0;       ///< of reads; 0: a reference that tells a bandwidth alone
    double p50_ns = 0;        ///< 0 of a reference
    double p99_ns = 0;        ///< 0 of a reference
    bool reference = false;
};

struct ValidateOptions {
    std::string only{};  ///< a part by its name; empty: all
    bool json = false;   ///< one JSON object instead of a table
    std::string out{};   ///< folder of validate.json and its plots; none: not written
    std::string cards = "configs/cards";  ///< folder of the cards' files
    std::vector<std::string> sets{};      ///< "path=value", for every config that is read
};

struct ValidationPart {
    std::vector<ValidationRow> rows{};
    std::vector<LoadedLatencyPoint> curves{};
};

/// The link alone: V2, V4 and V11.
[[nodiscard]] std::vector<ValidationRow> validate_link();

/// The DRAM alone: bandwidth, unloaded and loaded latency of one subchannel.
[[nodiscard]] std::vector<ValidationRow> validate_dram();

/// Copies by a GPU out of host DRAM, and MMIO: V9 and V10. Of the card only its registers count.
[[nodiscard]] std::vector<ValidationRow> validate_host_copies(const RunConfig& config);

/// The card in burst fidelity against itself in line fidelity, at idle, half and full load. It must
/// name its DRAM's device.
[[nodiscard]] std::vector<ValidationRow> validate_fidelity(const card::CardConfig& card);

/// The same for its moves: promotions and demotions, alone and mixed, by block size and load, and a
/// host's reads beside them.
[[nodiscard]] std::vector<ValidationRow> validate_move_fidelity(const RunConfig& config);

/// The data plane at its limits, against slot and TLP arithmetic: promotions and demotions by
/// depth, block and link, both at once, under overload, and the loop of copies beside them.
[[nodiscard]] std::vector<ValidationRow> validate_saturation(const RunConfig& config);

/// A host's reads beside the card's moves: their curve over what moves, and that it is bounded.
[[nodiscard]] ValidationPart validate_host_reads(const RunConfig& config);

/// The names of the parts.
[[nodiscard]] std::vector<std::string> validate_parts();

/// Runs the parts and prints their rows: a table, or {"schema": "kvplane.validate/1", "rows":
/// [...], "curves": [...]}. Returns 1 where a row does not pass.
[[nodiscard]] int validate(const ValidateOptions& options, std::ostream& out);

}  // namespace kvplane::explore
