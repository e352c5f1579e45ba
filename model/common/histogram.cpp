// SPDX-License-Identifier: Apache-2.0
#include "model/common/histogram.h"

#include <algorithm>

namespace kvplane {

Time Histogram::percentile(std::uint32_t per_mille) const {
    if (m_count == 0) return {};
    const std::uint64_t rank =
        std::max<std::uint64_t>(1, (m_count * per_mille + 999) / 1000);  // nearest rank
    std::uint64_t seen = 0;
    for (int i = 0; i < m_bins.axis().size(); ++i) {
        seen += m_bins.at(i);
        if (seen >= rank) return std::clamp(Time{LogAxis::middle(i)}, m_min, m_max);
    }
    return m_max;
}

}  // namespace kvplane
