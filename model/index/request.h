// SPDX-License-Identifier: Apache-2.0
/// What the lookup engine is asked and what it answers.
#pragma once

#include <cstdint>

#include "model/index/entry.h"

namespace kvplane::index {

enum class Operation : std::uint8_t { kLookup, kInsert, kUpdate, kDelete, kEvict, kScrub };

enum class Status : std::uint8_t {
    kHit,
    kMiss,
    kDone,
    kExists,           ///< INSERT of a key that is there; nothing changed
    kFull,             ///< INSERT found no slot and no room in the stash; nothing changed
    kVersionMismatch,  ///< the entry's move version is not the expected one; nothing changed
    kUncorrectable,    ///< in place of MISS or DONE, where a bad slot could hold the key;
                       ///< nothing changed
};

struct Request {
    Operation operation = Operation::kLookup;
    std::uint64_t key = 0;  ///< well mixed: BlockKey::fold()
    Entry entry{};          ///< of INSERT and UPDATE; its tag is ignored
    FieldMask mask = field::kAll;
    std::uint8_t expect_version = 0;
    bool expect_valid = false;  ///< UPDATE and DELETE: only where the move version is as expected
};

struct Answer {
    Status status = Status::kMiss;
    bool corrected = false;      ///< a bit of a slot that was read was corrected
    bool uncorrectable = false;  ///< a slot that was read is beyond correction
    /// The current entry for HIT, EXISTS and VERSION_MISMATCH; the new one for INSERT and UPDATE;
    /// the removed one for DELETE and EVICT.
    Entry entry{};

    [[nodiscard]] bool found() const { return status == Status::kHit; }
    [[nodiscard]] bool done() const { return status == Status::kDone; }
};

}  // namespace kvplane::index
