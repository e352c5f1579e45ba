// SPDX-License-Identifier: Apache-2.0
/// The cuckoo table against recorded experiments and a map, at length.
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "churn.h"
#include "cuckoo_twin.h"
#include "tests/support/shared_data.h"

namespace kvplane::index {
namespace {

TEST(CuckooFullTest, EqualsUnorderedMapOverTenMillionOperations) {
    for (const std::uint32_t slots : {2U, 4U}) {
        CuckooTwin twin({.buckets_log2 = 10, .slots = slots, .seed = slots}, slots);
        twin.play(3'000'000, 45);
        twin.play(2'000'000, 20);
        twin.check_all();
        EXPECT_GT(twin.refused(), 1'000U);
    }
}

std::vector<std::vector<std::string>> rows_of(const std::string& name) {
    std::ifstream file(test::shared_path(name));
    std::vector<std::vector<std::string>> rows;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::istringstream cells(line);
        rows.emplace_back();
        std::string cell;
        while (std::getline(cells, cell, ',')) rows.back().push_back(cell);
    }
    return rows;
}

std::uint32_t number(const std::string& cell) {
    return static_cast<std::uint32_t>(std::stoul(cell));
}

/// The smallest power of two of buckets that gives 2^18 slots; for three choices the largest that
/// does not.
std::uint32_t buckets_log2(std::uint32_t choices, std::uint32_t slots) {
    std::uint32_t log2 = 2;
    while (((choices == 3 ? 4 : choices) * slots) << log2 < 262'144) ++log2;
    return log2;
}

TEST(CuckooFullTest, ChurnIsAsRecorded) {
    KVPLANE_REQUIRE_SHARED("facts/hash_churn.csv");
    const auto rows = rows_of("facts/hash_churn.csv");
    ASSERT_EQ(rows.size(), 48U);
    std::uint32_t failed_builds = 0;
    for (const std::vector<std::string>& row : rows) {
        const std::uint32_t choices = number(row[0]);
        const std::uint32_t slots = number(row[1]);
        const auto load = static_cast<std::uint32_t>(std::lround(std::stod(row[3]) * 100));
        SCOPED_TRACE(row[0] + " x " + row[1] + ", load " + row[3] + ", limit " + row[4]);
        const Churn result = churn({.choices = choices,
                                    .buckets_log2 = buckets_log2(choices, slots),
                                    .slots = slots,
                                    .stash = number(row[5]),
                                    .kick_limit = number(row[4])},
                                   load, 1'000'000);
        EXPECT_EQ(result.filled, number(row[6]) != 0);
        failed_builds += result.filled ? 0 : 1;
        if (!result.filled || number(row[6]) == 0) continue;
        const double mean = std::stod(row[7]);
        EXPECT_NEAR(result.mean, mean, 0.025 * mean + 0.001);
        EXPECT_NEAR(static_cast<double>(result.p99), std::stod(row[8]), 1);
        EXPECT_NEAR(static_cast<double>(result.p999), std::stod(row[9]), 1);
        EXPECT_NEAR(static_cast<double>(result.p9999), std::stod(row[10]), 2);
        // One insert in a million has the largest number.
        EXPECT_LE(static_cast<double>(result.max), 1.6 * std::stod(row[11]));
        EXPECT_GE(static_cast<double>(result.max), 0.6 * std::stod(row[11]));
        // Inserts that ended at the limit. In the records they filled the stash, because a stashed
        // key only tried its own two buckets again, and then failed; here each removal lets one
        // walk again, so that the stash stays empty and none fails.
        const double ended = std::stod(row[12]) + std::stod(row[14]);
        const auto parked = static_cast<double>(result.parked);
        EXPECT_NEAR(parked, ended, 4 * std::sqrt(parked + ended) + 0.05 * ended);
        EXPECT_EQ(result.failures, 0U);
    }
    EXPECT_EQ(failed_builds, 7U);
}

TEST(CuckooFullTest, FirstFailureIsAtTheRecordedLoad) {
    KVPLANE_REQUIRE_SHARED("facts/hash_first_fail.csv");
    const auto rows = rows_of("facts/hash_first_fail.csv");
    ASSERT_EQ(rows.size(), 51U);
    constexpr int kSeeds = 10;
    constexpr int kRecordedSeeds = 5;
    for (const std::vector<std::string>& row : rows) {
        const std::uint32_t choices = number(row[1]);
        const std::uint32_t slots = number(row[2]);
        double sum = 0;
        double squares = 0;
        for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
            CuckooTable table({.choices = choices,
                               .buckets_log2 = buckets_log2(choices, slots),
                               .slots = slots,
                               .stash = 1,
                               .kick_limit = number(row[4]),
                               .seed = seed});
            RandomStream random(seed, "first failure");
            while (table.insert(random.bits(), entry_of(1)).done() && table.stashed() == 0) {
            }
            const double load =
                static_cast<double>(table.size()) / static_cast<double>(table.capacity());
            sum += load;
            squares += load * load;
        }
        const double mean = sum / kSeeds;
        const double deviation = std::sqrt((squares - sum * mean) / (kSeeds - 1));
        // Four standard errors of the difference of two means.
        const double noise = 4 * deviation * std::sqrt(1.0 / kSeeds + 1.0 / kRecordedSeeds);
        EXPECT_NEAR(mean, std::stod(row[6]), noise + 0.001)
            << choices << " x " << slots << ", limit " << row[4];
        EXPECT_LT(noise, 0.12);
    }
}

}  // namespace
}  // namespace kvplane::index
