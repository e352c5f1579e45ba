// SPDX-License-Identifier: Apache-2.0
/// Units as types. Simulated time is whole picoseconds, data is whole bytes, bandwidth is whole
/// bytes per second (1 GB/s = 10^9 bytes per second). All arithmetic is integer, so that a result
/// is the same on every machine.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvplane {

// An extension, which -Wpedantic lets pass in this form alone.
__extension__ typedef __int128 Int128;            // NOLINT(modernize-use-using)
__extension__ typedef unsigned __int128 Uint128;  // NOLINT(modernize-use-using)

/// A point in simulated time, or a span of it, in picoseconds. Range: +-106 days.
struct Time {
    std::int64_t ps = 0;

    [[nodiscard]] static constexpr Time from_ns(std::int64_t n) { return {n * 1'000}; }
    [[nodiscard]] static constexpr Time from_us(std::int64_t n) { return {n * 1'000'000}; }
    [[nodiscard]] static constexpr Time from_ms(std::int64_t n) { return {n * 1'000'000'000}; }
    [[nodiscard]] static constexpr Time from_s(std::int64_t n) { return {n * 1'000'000'000'000}; }
    /// Later than every event of a run.
    [[nodiscard]] static constexpr Time never() { return {INT64_MAX}; }

    [[nodiscard]] constexpr double us() const { return static_cast<double>(ps) / 1e6; }
    [[nodiscard]] constexpr double ms() const { return static_cast<double>(ps) / 1e9; }
    [[nodiscard]] constexpr double s() const { return static_cast<double>(ps) / 1e12; }

    constexpr auto operator<=>(const Time&) const = default;
    constexpr Time& operator+=(Time o) { return ps += o.ps, *this; }
    constexpr Time& operator-=(Time o) { return ps -= o.ps, *this; }
    friend constexpr Time operator+(Time a, Time b) { return {a.ps + b.ps}; }
    friend constexpr Time operator-(Time a, Time b) { return {a.ps - b.ps}; }
    friend constexpr Time operator*(Time a, std::int64_t n) { return {a.ps * n}; }
};

/// A number of bytes.
struct Bytes {
    std::uint64_t count = 0;

    [[nodiscard]] static constexpr Bytes from_kib(std::uint64_t n) { return {n << 10}; }
    [[nodiscard]] static constexpr Bytes from_mib(std::uint64_t n) { return {n << 20}; }
    [[nodiscard]] static constexpr Bytes from_gib(std::uint64_t n) { return {n << 30}; }

    constexpr auto operator<=>(const Bytes&) const = default;
    constexpr Bytes& operator+=(Bytes o) { return count += o.count, *this; }
    constexpr Bytes& operator-=(Bytes o) { return count -= o.count, *this; }
    friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
    friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
    friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return {a.count * n}; }
    friend constexpr std::uint64_t operator/(Bytes a, Bytes b) { return a.count / b.count; }
};

/// Bandwidth in bytes per second.
struct Rate {
    std::uint64_t bytes_per_second = 0;

    /// 1 GB/s = 10^9 bytes per second.
    [[nodiscard]] static constexpr Rate from_gb_s(std::uint64_t n) { return {n * 1'000'000'000}; }
    [[nodiscard]] constexpr double gb_s() const {
        return static_cast<double>(bytes_per_second) / 1e9;
    }
    constexpr auto operator<=>(const Rate&) const = default;
};

/// Clock frequency in hertz.
struct Frequency {
    std::uint64_t hz = 0;
    constexpr auto operator<=>(const Frequency&) const = default;
    /// The time of `cycles` cycles, rounded up to a picosecond.
    [[nodiscard]] constexpr Time cycles(std::uint64_t cycles) const {
        return {static_cast<std::int64_t>((cycles * 1'000'000'000'000ULL + hz - 1) / hz)};
    }
};

/// Transfers per second on each lane or data pin: 32 GT/s, 5600 MT/s.
struct TransferRate {
    std::uint64_t per_second = 0;
    constexpr auto operator<=>(const TransferRate&) const = default;
};

/// Floating-point operations per second.
struct ComputeRate {
    std::uint64_t flop_per_second = 0;
    constexpr auto operator<=>(const ComputeRate&) const = default;
};

/// A share in parts per million: 91 % is 910,000.
struct Ratio {
    std::uint32_t ppm = 0;
    constexpr auto operator<=>(const Ratio&) const = default;
};

/// A device physical address of the card: an offset into its memory, in bytes.
struct Dpa {
    std::uint64_t value = 0;
    constexpr auto operator<=>(const Dpa&) const = default;
};

/// An address in the host's physical address space (host memory, HDM windows and BARs).
struct Hpa {
    std::uint64_t value = 0;
    constexpr auto operator<=>(const Hpa&) const = default;
};

/// The size of a CXL.mem line.
inline constexpr Bytes kLine{64};

/// The time `n` bytes take at `rate`, rounded up to a picosecond. `rate` must not be zero.
[[nodiscard]] constexpr Time transfer_time(Bytes n, Rate rate) {
    const Uint128 scaled = static_cast<Uint128>(n.count) * 1'000'000'000'000U;
    return {
        static_cast<std::int64_t>((scaled + rate.bytes_per_second - 1) / rate.bytes_per_second)};
}

/// Parses "25 ns", "1.5us", "3 s" (units: ps, ns, us, ms, s, min, h).
/// Throws std::invalid_argument with one clear sentence; so do its siblings below.
[[nodiscard]] Time parse_time(std::string_view text);
/// Parses "64 B", "512 KiB", "2 TiB" (units: B, KiB, MiB, GiB, TiB).
[[nodiscard]] Bytes parse_bytes(std::string_view text);
/// Parses "51.8 GB/s" (units: B/s, MB/s, GB/s, TB/s; powers of ten).
[[nodiscard]] Rate parse_rate(std::string_view text);
/// Parses "1 GHz" (units: Hz, kHz, MHz, GHz).
[[nodiscard]] Frequency parse_frequency(std::string_view text);
/// Parses "32 GT/s" (units: MT/s, GT/s).
[[nodiscard]] TransferRate parse_transfer_rate(std::string_view text);
/// Parses "4.35 PFLOP/s" (units: GFLOP/s, TFLOP/s, PFLOP/s).
[[nodiscard]] ComputeRate parse_compute_rate(std::string_view text);
/// Parses "91 %".
[[nodiscard]] Ratio parse_ratio(std::string_view text);

/// The shortest exact form with a unit, such as "3.24 us"; parsing it gives the value back.
[[nodiscard]] std::string to_string(Time value);
[[nodiscard]] std::string to_string(Bytes value);
[[nodiscard]] std::string to_string(Rate value);
[[nodiscard]] std::string to_string(Frequency value);
[[nodiscard]] std::string to_string(TransferRate value);
[[nodiscard]] std::string to_string(ComputeRate value);
[[nodiscard]] std::string to_string(Ratio value);

}  // namespace kvplane
