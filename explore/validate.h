// SPDX-License-Identifier: Apache-2.0
/// `kvplane validate`: the model against numbers that are not its own.
#pragma once

#include <ostream>
#include <string>
#include <vector>

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

    /// How far the model lies outside the reference, as a signed fraction of its nearer end.
    [[nodiscard]] double error() const;
    [[nodiscard]] bool holds() const;
};

/// The link alone: V2, V4 and V11.
[[nodiscard]] std::vector<ValidationRow> validate_link();

/// The DRAM alone: bandwidth, unloaded and loaded latency of one subchannel.
[[nodiscard]] std::vector<ValidationRow> validate_dram();

struct ValidateOptions {
    std::string only;   ///< a part by its name; empty: all
    bool json = false;  ///< {"schema": "kvplane.validate/1", "rows": [...]} instead of a table
};

/// The names of the parts.
[[nodiscard]] std::vector<std::string> validate_parts();

/// Runs the parts and prints their rows. Returns 1 where a row without a reason does not hold.
[[nodiscard]] int validate(const ValidateOptions& options, std::ostream& out);

}  // namespace kvplane::explore
