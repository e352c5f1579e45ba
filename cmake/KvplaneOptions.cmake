# SPDX-License-Identifier: Apache-2.0
# Language, warnings, optimisation, sanitizers and the compiler cache, for every target.

option(KVPLANE_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# NDEBUG silences the asserts of third-party headers; SC_ENABLE_ASSERTIONS keeps sc_assert,
# which is the assert of this project, in every build.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
add_compile_definitions(SC_ENABLE_ASSERTIONS)

# No contraction to fused multiply-add: the same seed gives the same bytes on every machine.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -ffp-contract=off)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 reports -Wrestrict inside std::string's operator+ (GCC bug 105651).
    add_compile_options(-Wno-restrict)
endif()

if(KVPLANE_SANITIZE)
    add_compile_options(-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # Instrumentation hides initialisation from the analysis: false positives only.
        add_compile_options(-Wno-maybe-uninitialized)
    endif()
endif()

find_program(KVPLANE_CCACHE ccache)
mark_as_advanced(KVPLANE_CCACHE)
if(KVPLANE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Relative paths, so that several build directories and clones share one cache.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
        "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${KVPLANE_CCACHE}")
endif()
