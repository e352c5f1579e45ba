// SPDX-License-Identifier: Apache-2.0
#include "host_driver/serving/metrics.h"

#include <array>
#include <cmath>
#include <span>

namespace kvplane::serving {
namespace {

constexpr std::size_t kWindows = 10;
/// One-sided 95 % point of Student's t with kWindows - 2 degrees of freedom.
constexpr double kStudent95 = 1.860;
/// Fewer samples in half of the arrivals say nothing about a slope.
constexpr std::size_t kFewestSamples = 30;

struct Window {
    double sum = 0;
    double samples = 0;
};

/// Means of the queue over equal windows of time; false where one of them is empty.
bool window_means(std::span<const QueueSample> samples, std::array<double, kWindows>& means) {
    const Time begin = samples.front().at;
    const std::int64_t length = (samples.back().at - begin).ps + 1;
    std::array<Window, kWindows> windows{};
    for (const QueueSample& sample : samples) {
        const auto index = static_cast<std::size_t>(static_cast<Int128>((sample.at - begin).ps) *
                                                    kWindows / length);
        windows[index].sum += sample.waiting;
        windows[index].samples += 1;
    }
    for (std::size_t i = 0; i < kWindows; ++i) {
        if (windows[i].samples == 0) return false;
        means[i] = windows[i].sum / windows[i].samples;
    }
    return true;
}

/// Whether the line through `values` rises with 95 % confidence, and by more than half of their
/// mean from end to end.
bool rises(const std::array<double, kWindows>& values) {
    constexpr double kMiddle = (kWindows - 1) / 2.0;
    double mean = 0;
    for (const double value : values) mean += value / kWindows;
    double tt = 0;
    double tq = 0;
    for (std::size_t i = 0; i < kWindows; ++i) {
        const double t = static_cast<double>(i) - kMiddle;
        tt += t * t;
        tq += t * (values[i] - mean);
    }
    const double slope = tq / tt;
    double residuals = 0;
    for (std::size_t i = 0; i < kWindows; ++i) {
        const double residual = values[i] - mean - slope * (static_cast<double>(i) - kMiddle);
        residuals += residual * residual;
    }
    const double error = std::sqrt(residuals / (kWindows - 2) / tt);
    return slope - kStudent95 * error > 0 && slope * kWindows > mean / 2;
}

}  // namespace

std::optional<bool> stable(const ServingMetrics& metrics,
                           const std::vector<QueueSample>& samples) {
    const std::size_t half = samples.size() / 2;
    if (half < kFewestSamples) return std::nullopt;
    if (metrics.compute > metrics.last_arrival - metrics.measured_from) return false;
    std::array<double, kWindows> means{};
    if (!window_means(std::span(samples).last(half), means)) return std::nullopt;
    return !rises(means);
}

}  // namespace kvplane::serving
