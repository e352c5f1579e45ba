# SPDX-License-Identifier: Apache-2.0
# Finds the Accellera SystemC library (with TLM-2.0) and makes SystemC::systemc.
#
# The library is built as C++17 and checks at link time that its users are too. Users of C++20
# pass the check with SC_CPLUSPLUS, which must reach every file that includes <systemc>:
# it is a property of the target. SYSTEMC_HOME (CMake or environment) names another install.

find_path(SystemC_INCLUDE_DIR NAMES systemc
          HINTS "${SYSTEMC_HOME}" ENV SYSTEMC_HOME PATH_SUFFIXES include)
find_library(SystemC_LIBRARY NAMES systemc
             HINTS "${SYSTEMC_HOME}" ENV SYSTEMC_HOME PATH_SUFFIXES lib lib-linux64 lib64)
mark_as_advanced(SystemC_INCLUDE_DIR SystemC_LIBRARY)

set(SystemC_VERSION "")
set(_systemc_header "${SystemC_INCLUDE_DIR}/sysc/kernel/sc_ver.h")
if(SystemC_INCLUDE_DIR AND EXISTS "${_systemc_header}")
    foreach(_systemc_part MAJOR MINOR PATCH)
        file(STRINGS "${_systemc_header}" _systemc_line
             REGEX "^#define +SC_VERSION_${_systemc_part} +[0-9]+" LIMIT_COUNT 1)
        string(REGEX MATCH "[0-9]+" _systemc_number "${_systemc_line}")
        list(APPEND SystemC_VERSION "${_systemc_number}")
    endforeach()
    list(JOIN SystemC_VERSION "." SystemC_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SystemC
    REQUIRED_VARS SystemC_LIBRARY SystemC_INCLUDE_DIR
    VERSION_VAR SystemC_VERSION)

if(SystemC_FOUND AND NOT TARGET SystemC::systemc)
    add_library(SystemC::systemc UNKNOWN IMPORTED)
    set_target_properties(SystemC::systemc PROPERTIES
        IMPORTED_LOCATION "${SystemC_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${SystemC_INCLUDE_DIR}"
        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${SystemC_INCLUDE_DIR}"
        INTERFACE_COMPILE_DEFINITIONS "SC_CPLUSPLUS=201703L")
endif()
