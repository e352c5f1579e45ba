// SPDX-License-Identifier: Apache-2.0
#include "host_driver/serving/metrics.h"

#include <cmath>

namespace kvplane::serving {
namespace {

/// One-sided 95 % point of the normal distribution; samples are in the hundreds.
constexpr double kNormal95 = 1.645;
constexpr double kMostCorrelated = 0.999;
/// Fewer samples say nothing about a slope.
constexpr std::size_t kFewestSamples = 30;

struct Line {
    double mean = 0;
    double slope = 0;        ///< per second
    double slope_error = 0;  ///< standard error
    double length_s = 0;
};

Line fit(const QueueSample* samples, std::size_t n) {
    double mean_t = 0;
    double mean_q = 0;
    for (std::size_t i = 0; i < n; ++i) {
        mean_t += samples[i].at.s();
        mean_q += samples[i].waiting;
    }
    mean_t /= static_cast<double>(n);
    mean_q /= static_cast<double>(n);
    double tt = 0;
    double tq = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double t = samples[i].at.s() - mean_t;
        const double q = samples[i].waiting - mean_q;
        tt += t * t;
        tq += t * q;
    }
    Line line{.mean = mean_q, .length_s = (samples[n - 1].at - samples[0].at).s()};
    if (tt == 0) return line;
    line.slope = tq / tt;
    double residuals = 0;
    double lagged = 0;
    double before = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double residual =
            samples[i].waiting - mean_q - line.slope * (samples[i].at.s() - mean_t);
        residuals += residual * residual;
        lagged += residual * before;
        before = residual;
    }
    if (residuals == 0) return line;
    // Neighbouring samples see the same queue: they are worth (1 - r) / (1 + r) of independent
    // ones.
    const double r = std::fmin(kMostCorrelated, std::fmax(0, lagged / residuals));
    line.slope_error = std::sqrt(residuals / static_cast<double>(n - 2) / tt * (1 + r) / (1 - r));
    return line;
}

}  // namespace

bool stable(const ServingMetrics& metrics, const std::vector<QueueSample>& samples) {
    const Time window = metrics.last_arrival - metrics.first_arrival;
    if (samples.size() >= kFewestSamples && metrics.compute > window) return false;
    const std::size_t half = samples.size() / 2;
    if (half < kFewestSamples) return true;
    const Line line = fit(samples.data() + (samples.size() - half), half);
    const bool rising = line.slope - kNormal95 * line.slope_error > 0;
    return !(rising && line.slope * line.length_s > line.mean / 2);
}

}  // namespace kvplane::serving
