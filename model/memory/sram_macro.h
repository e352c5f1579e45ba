// SPDX-License-Identifier: Apache-2.0
/// An on-chip SRAM macro: how long a read takes, by capacity, port width and process node.
#pragma once

#include <cstdint>

#include "model/common/units.h"

namespace kvplane::memory {

enum class SramNode { k22nm, k7nm, k5nm };

}  // namespace kvplane::memory
