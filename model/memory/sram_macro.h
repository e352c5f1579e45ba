// SPDX-License-Identifier: Apache-2.0
/// On-chip SRAM macros: time, energy, leakage and area by capacity, port width, banks, ports and
/// process node.
///
/// Source: fits of the 42 one-bank CACTI 7 points at 22 nm (low-standby-power cells,
/// high-performance periphery, 1RW, SECDED included, 360 K; 32 KiB to 64 MiB, 64 to 512 bits),
/// with M = data MiB and w = port bits / 64:
///
///   access ns   0.214 + 0.933 sqrt(M) + 0.00844 w          mean error  6.9 %, largest 16 %
///   read pJ     1.29 - 1.16 w + (4.38 + 16.0 w) sqrt(M)                3.7 %          10 %
///   write pJ    0.02 - 0.26 w + (2.95 + 15.8 w) sqrt(M)                4.1 %          18 %
///   area mm2    0.915 M + 0.034 w sqrt(M)                              7.4 %          20 %
///   leakage mW  29 M                                                    33 %          93 %
///   cycle ns    0.25, 0.51, 0.60, 0.78 up to 64 KiB, 256 KiB, 16 MiB and above, exact at 64 bits
///
/// The cycle is that of 64-bit macros: a wide port is built from macros side by side. (CACTI left
/// alone trades cycle for energy in wide ones and takes up to 2.1 ns.)
///
/// Factors of banks and ports come from CACTI's points with high-performance cells, so that the
/// points below had no part in them. Errors on low-standby-power points outside the fit, mean and
/// largest:
///
///                2 banks        4 banks        8 banks        1R1W
///   access       8.3 %  19 %    7.5 %  18 %    7.9 %  23 %    5.3 %  14 %
///   cycle, 64 b   16 % 104 %     16 % 104 %     20 % 104 %     22 %  35 %
///   read         5.1 %  13 %    5.7 %  26 %    9.5 %  39 %    4.8 %  13 %
///   write        5.1 %  18 %    6.8 %  26 %    6.8 %  34 %    6.9 %  13 %
///   area          10 %  27 %     11 %  29 %     11 %  33 %    6.4 %  15 %
///   leakage       35 %  90 %     41 %  87 %     43 %  93 %     20 %  32 %
///
/// At 22 nm Corner gives the fits' largest errors: delay 16 %, energy 18 %, area 20 %, leakage 93 %
/// up and as much down by ratio.
///
/// Nodes below 22 nm are scaled; the factors rest on bit cells, test chips and gate scaling, and
/// are in part assumed. Corner gives their range, the fits' own errors left out:
///
///                  7 nm                    5 nm
///   delay x        0.65 (0.5 to 1.0)       0.60 (0.45 to 1.0)    assumed
///   energy x       0.60 (0.31 to 0.67)     0.50 (0.28 to 0.6)    5 nm assumed
///   area mm2/MiB   0.50 (0.41 to 0.64)     0.38 (0.31 to 0.47)   whatever the width
///   leakage x      0.5 (0.2 to 1.3)        0.5 (0.2 to 1.5)      assumed; treat as a sweep
#pragma once

#include <cstdint>

#include "model/common/units.h"

namespace kvplane::memory {

enum class SramNode { k22nm, k7nm, k5nm };
enum class SramPorts {
    k1rw,   ///< one read or write a cycle
    k1r1w,  ///< one read and one write a cycle
};
/// The end of each figure's range: the smallest, the likeliest or the largest.
enum class Corner { kLow, kTypical, kHigh };

struct SramMacroConfig {
    Bytes capacity;                ///< data of all banks; beyond 32 KiB to 64 MiB extrapolated
    std::uint32_t port_bits = 64;  ///< 64 to 512 in the fit; a multiple of 64
    SramNode node = SramNode::k7nm;
    std::uint32_t banks = 1;  ///< 1, 2, 4 or 8, behind one port: wires between banks included
    SramPorts ports = SramPorts::k1rw;
};

struct SramMacro {
    Time access;                   ///< address in to data out
    Time cycle;                    ///< between two accesses of one port
    std::uint64_t read_fj = 0;     ///< one access of the whole port; at least 500 fJ at 22 nm
    std::uint64_t write_fj = 0;    ///< the same
    std::uint64_t leakage_uw = 0;  ///< at 360 K
    std::uint64_t area_um2 = 0;
};

/// The macro of `config`. Throws InvariantError on a config outside its ranges.
[[nodiscard]] SramMacro sram_macro(const SramMacroConfig& config, Corner corner = Corner::kTypical);

/// Whether the fit covers the capacity and width; otherwise sram_macro() extrapolates.
[[nodiscard]] bool in_fit(const SramMacroConfig& config);

}  // namespace kvplane::memory
