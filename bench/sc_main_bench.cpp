// SPDX-License-Identifier: Apache-2.0
// Entry point of every benchmark: libsystemc owns main and calls sc_main.

#include <benchmark/benchmark.h>

#include <systemc>

int sc_main(int argc, char* argv[]) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
