# SPDX-License-Identifier: Apache-2.0
# The lookup engine's SystemVerilog as C++ libraries, one per set of parameters.

find_package(verilator 5.006 REQUIRED)

set(kvplane_rtl_folder "${PROJECT_SOURCE_DIR}/rtl/lookup_engine")
set(kvplane_rtl_modules lookup_pkg toeplitz secded_enc secded_dec sram_1rw bank_array store_buffer
    stash kick_engine commit_stage response_fifo lookup_regs lookup_engine)
set(kvplane_rtl_sources "")
foreach(module IN LISTS kvplane_rtl_modules)
    list(APPEND kvplane_rtl_sources "${kvplane_rtl_folder}/${module}.sv")
endforeach()

# kvplane_verilate(<variant> [TRACE_FST] [COVERAGE] [PARAMETERS Name=value...])
#
# Makes kvplane_rtl_<variant>, with make_<variant>_dut() of tb/plugin/lookup_dut.h. Verilator runs
# when CMake does, and again when a source changes; the generated files go through the compiler
# cache like all others.
function(kvplane_verilate variant)
    cmake_parse_arguments(PARSE_ARGV 1 arg "TRACE_FST;COVERAGE" "" "PARAMETERS")
    set(target "kvplane_rtl_${variant}")
    set(prefix "Vlookup_${variant}")
    if(arg_TRACE_FST)
        set(tracing true)
    else()
        set(tracing false)
    endif()
    set(shim "${CMAKE_CURRENT_BINARY_DIR}/${variant}_dut.cpp")
    configure_file("${PROJECT_SOURCE_DIR}/tb/plugin/lookup_dut.cpp.in" "${shim}" @ONLY)
    add_library(${target} STATIC "${shim}")

    set(options "")
    foreach(option TRACE_FST COVERAGE)
        if(arg_${option})
            list(APPEND options ${option})
        endif()
    endforeach()
    list(TRANSFORM arg_PARAMETERS PREPEND "-G")
    verilate(${target} ${options} PREFIX ${prefix} TOP_MODULE lookup_engine
             SOURCES "${kvplane_rtl_folder}/lint.vlt" ${kvplane_rtl_sources}
             # Slow files run at construction only.
             OPT_SLOW -O0
             VERILATOR_ARGS --assert -Wall --x-assign unique --x-initial unique -O3
                            ${arg_PARAMETERS})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
    # Generated code and Verilator's own headers do not keep the house's warnings.
    target_compile_options(${target} PRIVATE -w)
    target_compile_definitions(${target} PRIVATE VL_TIME_CONTEXT)
    target_link_libraries(${target} PUBLIC Threads::Threads)
endfunction()
