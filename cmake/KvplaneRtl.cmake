# SPDX-License-Identifier: Apache-2.0
# The lookup engine's SystemVerilog as C++ libraries, one per set of parameters.

find_package(verilator 5.006 REQUIRED)

option(KVPLANE_RTL_COVERAGE "Verilate the engines of the benches with coverage" OFF)

set(kvplane_rtl_folder "${PROJECT_SOURCE_DIR}/rtl/lookup_engine")
set(kvplane_rtl_modules lookup_pkg toeplitz secded_enc secded_dec sram_1rw bank_array store_buffer
    stash kick_engine commit_stage response_fifo lookup_regs admission
    request_pipe starvation engine_watch lookup_half lookup_engine)
set(kvplane_rtl_sources "")
foreach(module IN LISTS kvplane_rtl_modules)
    list(APPEND kvplane_rtl_sources "${kvplane_rtl_folder}/${module}.sv")
endforeach()

# kvplane_verilate(<variant> [SHIM file] [SRAM file] [COVERAGE] [TRACE_FST] [PARAMETERS Name=value...])
#
# Makes kvplane_rtl_<variant>, a library with make_<variant>_dut() of tb/plugin/lookup_dut.h. SHIM
# has that function, where it is more than the pins; SRAM stands in for sram_1rw.sv. Verilator runs
# when CMake does, and again when a source changes; the generated files go through the compiler
# cache like all others.
function(kvplane_verilate variant)
    cmake_parse_arguments(PARSE_ARGV 1 arg "TRACE_FST;COVERAGE" "SHIM;SRAM" "PARAMETERS")
    set(target "kvplane_rtl_${variant}")
    set(prefix "Vlookup_${variant}")
    set(shim "${arg_SHIM}")
    if(NOT shim)
        set(shim "${CMAKE_CURRENT_BINARY_DIR}/${variant}_dut.cpp")
        configure_file("${PROJECT_SOURCE_DIR}/tb/plugin/variant_dut.cpp.in" "${shim}" @ONLY)
    endif()
    add_library(${target} STATIC ${shim})

    set(sources ${kvplane_rtl_sources})
    if(arg_SRAM)
        list(REMOVE_ITEM sources "${kvplane_rtl_folder}/sram_1rw.sv")
        list(APPEND sources "${arg_SRAM}")
    endif()
    # Speed is for the engines that run, not for those that are looked at.
    set(fast -O2)
    if(arg_TRACE_FST OR arg_COVERAGE)
        set(fast -O1)
    endif()
    set(options "")
    foreach(option TRACE_FST COVERAGE)
        if(arg_${option})
            list(APPEND options ${option})
        endif()
    endforeach()
    list(TRANSFORM arg_PARAMETERS PREPEND "-G")
    verilate(${target} ${options} PREFIX ${prefix} TOP_MODULE lookup_engine
             SOURCES "${kvplane_rtl_folder}/lint.vlt" ${sources}
             # Slow files run at construction only.
             OPT_SLOW -O0 OPT_FAST ${fast}
             VERILATOR_ARGS --assert -Wall --x-assign unique --x-initial unique -O3 --flatten
                            ${arg_PARAMETERS})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
    # Generated code and Verilator's own headers do not keep the house's warnings.
    target_compile_options(${target} PRIVATE -w)
    target_compile_definitions(${target} PRIVATE VL_TIME_CONTEXT)
    target_link_libraries(${target} PUBLIC Threads::Threads)
endfunction()
