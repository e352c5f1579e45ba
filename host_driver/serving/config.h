// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/common/units.h"

namespace kvplane::serving {

enum class LoadMode { kAsync };
enum class TransferOrder { kBlock };
enum class DecodeBlocks { kAnonymous };
/// Which frames a request holds from its admission on.
enum class Reserve {
    kPrompt,  ///< those of its prompt; a frame more for each block decoded
    kFull,    ///< those of prompt and output
};

/// The continuous-batching loop.
struct ServingConfig {
    std::uint32_t batch_sequences = 256;   ///< sequences that run at once
    std::uint32_t tokens_per_step = 2048;  ///< prompt and output tokens of one step
    LoadMode load_mode = LoadMode::kAsync;
    TransferOrder transfer_order = TransferOrder::kBlock;
    DecodeBlocks decode_blocks = DecodeBlocks::kAnonymous;
    Reserve reserve = Reserve::kPrompt;
    Ratio watermark{10'000};  ///< share of the frames that admission leaves free
};

}  // namespace kvplane::serving
