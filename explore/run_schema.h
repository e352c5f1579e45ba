// SPDX-License-Identifier: Apache-2.0
/// The keys of a run's config: one table for each struct, and the rules over several keys.
#pragma once

#include "explore/run_config.h"
#include "explore/schema.h"
#include "explore/settings.h"

namespace kvplane::explore {

/// The range of the card's latencies: none is zero.
inline constexpr Time kShortest{1};
inline constexpr Time kLongest = Time::from_ms(1);

/// Rows of one struct, below the section that is open. Reused by other configs that hold it.
void describe(Table& table, block::Shape& c);
void describe(Table& table, WorkloadConfig& c);
/// Of those of a workload, how a trace is read: time_backwards and azure.
void describe_reading(Table& table, WorkloadConfig& c);
void describe(Table& table, gpu::NodeConfig& c);
void describe(Table& table, serving::ServingConfig& c);
void describe(Table& table, control::ControlConfig& c);
void describe(Table& table, driver::DriverConfig& c);
void describe(Table& table, card::CardConfig& c, DramDevice& device);
/// Parts of that: link, CXL.mem and management; the DRAM.
void describe_cxl(Table& table, card::CardConfig& c);
void describe_dram(Table& table, card::CardConfig& c, DramDevice& device);

/// Where a device is named: makes the DRAM at line fidelity that device, and takes from it every
/// number of the burst model that was not given. Runs the line model for a tenth of a second.
/// Throws UserError where device, timing and controller contradict each other, and where keys of
/// the line model were given without a device.
void derive_dram(RunConfig& config, const Table& table, Settings& settings);

/// Every key of a run. `config` must outlive the table.
[[nodiscard]] Table run_table(RunConfig& config);

/// The rules over several keys of a run. Throws UserError.
void validate(const RunConfig& config, const Settings& settings);

}  // namespace kvplane::explore
