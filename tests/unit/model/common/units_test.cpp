// SPDX-License-Identifier: Apache-2.0
#include "model/common/units.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

namespace kvplane {
namespace {

/// What a parser says about a text; "" where it takes it.
template <class Parse>
std::string complaint(Parse parse, std::string_view text) {
    try {
        (void)parse(text);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "";
}

TEST(Units, ParsesTimes) {
    EXPECT_EQ(parse_time("1.5 ns"), Time{1500});
    EXPECT_EQ(parse_time("1.5ns"), Time{1500});
    EXPECT_EQ(parse_time("0.001 ns"), Time{1});
    EXPECT_EQ(parse_time("7 ps"), Time{7});
    EXPECT_EQ(parse_time("3.24 us"), Time{3'240'000});
    EXPECT_EQ(parse_time("0 s"), Time{});
    EXPECT_EQ(parse_time("10 min"), Time::from_s(600));
    EXPECT_EQ(parse_time("1.5 h"), Time::from_s(5400));
    EXPECT_EQ(parse_time("0.250000000000 s"), Time::from_ms(250));
    EXPECT_EQ(parse_time("9223372.036854 s"), Time{9'223'372'036'854'000'000});
}

TEST(Units, ParsesOtherQuantities) {
    EXPECT_EQ(parse_bytes("64MiB"), Bytes::from_mib(64));
    EXPECT_EQ(parse_bytes("1.5 KiB"), Bytes{1536});
    EXPECT_EQ(parse_bytes("2 TiB"), Bytes::from_gib(2048));
    EXPECT_EQ(parse_rate("51.8 GB/s"), Rate{51'800'000'000});
    EXPECT_EQ(parse_frequency("1 GHz"), Frequency{1'000'000'000});
    EXPECT_EQ(parse_transfer_rate("5600 MT/s"), TransferRate{5'600'000'000});
    EXPECT_EQ(parse_transfer_rate("32 GT/s"), TransferRate{32'000'000'000});
    EXPECT_EQ(parse_compute_rate("4.35 PFLOP/s"), ComputeRate{4'350'000'000'000'000});
    EXPECT_EQ(parse_ratio("91 %"), Ratio{910'000});
    EXPECT_EQ(parse_ratio("0.0001%"), Ratio{1});
    EXPECT_EQ(parse_ratio("250 %"), Ratio{2'500'000});
}

TEST(Units, RefusesWhatIsNotAWholeNumberOfTheSmallestUnit) {
    EXPECT_EQ(complaint(parse_time, "0.0001 ns"), "'0.0001 ns' is not a whole number of ps");
    EXPECT_EQ(complaint(parse_time, "0.5 ps"), "'0.5 ps' is not a whole number of ps");
    EXPECT_EQ(complaint(parse_bytes, "0.3 KiB"), "'0.3 KiB' is not a whole number of B");
    EXPECT_EQ(complaint(parse_ratio, "0.00001 %"), "'0.00001 %' is not a whole number of ppm");
}

TEST(Units, RefusesMissingAndWrongUnits) {
    EXPECT_EQ(complaint(parse_time, "7"), "'7' has no unit; use one of ps, ns, us, ms, s, min, h");
    EXPECT_EQ(complaint(parse_time, "7 "),
              "'7 ' has no unit; use one of ps, ns, us, ms, s, min, h");
    EXPECT_EQ(complaint(parse_bytes, "10 GB"),
              "'10 GB' has the unknown unit 'GB'; use one of B, KiB, MiB, GiB, TiB");
    EXPECT_EQ(complaint(parse_bytes, "10 gib"),
              "'10 gib' has the unknown unit 'gib'; use one of B, KiB, MiB, GiB, TiB");
    EXPECT_EQ(complaint(parse_time, "10 ns x"),
              "'10 ns x' has the unknown unit 'ns x'; use one of ps, ns, us, ms, s, min, h");
    EXPECT_EQ(complaint(parse_rate, "10 GiB/s"),
              "'10 GiB/s' has the unknown unit 'GiB/s'; use one of B/s, MB/s, GB/s, TB/s");
    EXPECT_NE(complaint(parse_bytes, "10 B/s"), "");
    EXPECT_NE(complaint(parse_time, "1e3 ns"), "");
    EXPECT_NE(complaint(parse_time, "1,5 ns"), "");
    EXPECT_NE(complaint(parse_time, "1.5.0 ns"), "");
}

TEST(Units, RefusesWhatIsNoNumber) {
    for (const std::string_view text :
         {"", " ", "ns", "-3 ns", "+3 ns", ".", ". ns", "nan ns", "inf s", " 3 ns"}) {
        SCOPED_TRACE(text);
        EXPECT_NE(complaint(parse_time, text), "");
    }
    EXPECT_EQ(complaint(parse_time, "-3 ns"),
              "'-3 ns' is not a quantity: a non-negative number and a unit");
}

TEST(Units, RefusesOverflow) {
    EXPECT_EQ(parse_time("9223372036854775807 ps").ps, INT64_MAX) << "19 digits";
    EXPECT_EQ(complaint(parse_time, "9223372.036854775808 s"),
              "'9223372.036854775808 s' is too large");
    EXPECT_EQ(complaint(parse_time, "3000 h"), "'3000 h' is too large");
    EXPECT_EQ(complaint(parse_bytes, "8388608 TiB"), "'8388608 TiB' is too large");
    EXPECT_EQ(parse_bytes("8388607 TiB"), Bytes{8'388'607ULL << 40});
    EXPECT_EQ(complaint(parse_ratio, "429497 %"), "'429497 %' is too large");
    EXPECT_EQ(complaint(parse_time, "99999999999999999999 ps"),
              "'99999999999999999999 ps' has too many digits");
    EXPECT_EQ(complaint(parse_rate, "999999999999999999 TB/s"),
              "'999999999999999999 TB/s' is too large");
}

TEST(Units, PrintsTheShortestExactText) {
    EXPECT_EQ(to_string(Time{1500}), "1.5 ns");
    EXPECT_EQ(to_string(Time{3'240'000}), "3.24 us");
    EXPECT_EQ(to_string(Time{1'973'001}), "1973001 ps");
    EXPECT_EQ(to_string(Time{}), "0 s");
    EXPECT_EQ(to_string(Time{-36'600}), "-36.6 ns");
    EXPECT_EQ(to_string(Time::from_s(600)), "600 s");
    EXPECT_EQ(to_string(Bytes{}), "0 B");
    EXPECT_EQ(to_string(Bytes::from_gib(2048)), "2 TiB");
    EXPECT_EQ(to_string(Bytes{141'100'000'000}), "141100000000 B");
    EXPECT_EQ(to_string(Bytes{1023}), "1023 B");
    EXPECT_EQ(to_string(Rate{51'800'000'000}), "51.8 GB/s");
    EXPECT_EQ(to_string(Frequency{1'000'000'000}), "1 GHz");
    EXPECT_EQ(to_string(TransferRate{32'000'000'000}), "32 GT/s");
    EXPECT_EQ(to_string(ComputeRate{4'350'000'000'000'000}), "4.35 PFLOP/s");
    EXPECT_EQ(to_string(Ratio{910'000}), "91 %");
    EXPECT_EQ(to_string(Ratio{1}), "1 ppm");
}

TEST(Units, WhatIsPrintedParsesBack) {
    // Values of every magnitude, with few and with many digits, up to the largest.
    std::uint64_t value = 0;
    for (int i = 0; i < 63; ++i) {
        for (const std::uint64_t v :
             {value, value + 1, (value * 1000) & INT64_MAX, (value * 1'000'003) & INT64_MAX,
              static_cast<std::uint64_t>(INT64_MAX) - value}) {
            const Time time{static_cast<std::int64_t>(v)};
            SCOPED_TRACE(v);
            EXPECT_EQ(parse_time(to_string(time)), time);
            EXPECT_EQ(parse_bytes(to_string(Bytes{v})), Bytes{v});
            EXPECT_EQ(parse_rate(to_string(Rate{v})), Rate{v});
            EXPECT_EQ(parse_frequency(to_string(Frequency{v})), Frequency{v});
            EXPECT_EQ(parse_transfer_rate(to_string(TransferRate{v})), TransferRate{v});
            EXPECT_EQ(parse_compute_rate(to_string(ComputeRate{v})), ComputeRate{v});
            const Ratio ratio{static_cast<std::uint32_t>(v)};
            EXPECT_EQ(parse_ratio(to_string(ratio)), ratio);
        }
        value = value * 2 + 1;
    }
}

TEST(Units, TransferTimeRoundsUp) {
    EXPECT_EQ(transfer_time(Bytes{1}, Rate{3}), Time{333'333'333'334});
    EXPECT_EQ(transfer_time(Bytes{}, Rate{3}), Time{});
    EXPECT_EQ(transfer_time(Bytes{64}, Rate{64'000'000'000}), Time{1000});
    EXPECT_EQ(Frequency{3}.cycles(1), Time{333'333'333'334});
    EXPECT_EQ(Frequency{1'000'000'000}.cycles(4), Time::from_ns(4));
}

}  // namespace
}  // namespace kvplane
