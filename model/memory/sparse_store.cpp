// SPDX-License-Identifier: Apache-2.0
#include "model/memory/sparse_store.h"

#include <algorithm>

namespace kvplane::memory {

void SparseStore::write(std::uint64_t address, std::span<const std::uint8_t> data) {
    while (!data.empty()) {
        const std::uint64_t offset = address % kPage;
        const std::size_t n = std::min<std::size_t>(data.size(), kPage - offset);
        const std::uint32_t* index = m_page_of.find(address / kPage);
        if (index == nullptr) {
            m_page_of.insert(address / kPage, static_cast<std::uint32_t>(m_pages.size()));
            m_pages.push_back(std::make_unique<Page>());
            index = m_page_of.find(address / kPage);
        }
        std::copy_n(data.begin(), n,
                    m_pages[*index]->begin() + static_cast<std::ptrdiff_t>(offset));
        data = data.subspan(n);
        address += n;
    }
}

void SparseStore::read(std::uint64_t address, std::span<std::uint8_t> data) const {
    while (!data.empty()) {
        const std::uint64_t offset = address % kPage;
        const std::size_t n = std::min<std::size_t>(data.size(), kPage - offset);
        const std::uint32_t* index = m_page_of.find(address / kPage);
        if (index == nullptr) {
            std::fill_n(data.begin(), n, std::uint8_t{0});
        } else {
            std::copy_n(m_pages[*index]->begin() + static_cast<std::ptrdiff_t>(offset), n,
                        data.begin());
        }
        data = data.subspan(n);
        address += n;
    }
}

}  // namespace kvplane::memory
