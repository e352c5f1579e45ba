// SPDX-License-Identifier: Apache-2.0
/// The bytes of a large memory of which little is ever written. Unwritten bytes read as zero.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/common/flat_map.h"

namespace kvplane::memory {

class SparseStore {
public:
    void write(std::uint64_t address, std::span<const std::uint8_t> data);
    void read(std::uint64_t address, std::span<std::uint8_t> data) const;

private:
    static constexpr std::uint64_t kPage = 4096;
    using Page = std::array<std::uint8_t, kPage>;
    FlatMap<std::uint64_t, std::uint32_t, NumberHash> m_page_of;
    std::vector<std::unique_ptr<Page>> m_pages;
};

}  // namespace kvplane::memory
