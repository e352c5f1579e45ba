// SPDX-License-Identifier: Apache-2.0
// Entry point of every test executable: libsystemc owns main and calls sc_main.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <systemc>

int sc_main(int argc, char* argv[]) {
    // Initialises GoogleTest as well.
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
