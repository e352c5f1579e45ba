# SPDX-License-Identifier: Apache-2.0
# One library per folder, so that the link graph is the block diagram.

# kvplane_library(<folder> [EXCLUDE file...] [DEPENDS folder...] [LINK target...])
#
# Makes the library of <folder> (a path from the repository root, e.g. model/common) and names
# it kvplane_<folder with _ for />, e.g. kvplane_model_common. Sources are the *.cpp in and
# below <folder> without EXCLUDE; a folder of headers only becomes an INTERFACE library. DEPENDS names other
# folders, LINK names targets; both are passed on to users. A folder that is absent or empty
# is skipped, here and in DEPENDS, and is picked up by the next build once it has a file.
function(kvplane_library folder)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EXCLUDE;DEPENDS;LINK")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "kvplane_library(${folder}): unknown ${arg_UNPARSED_ARGUMENTS}")
    endif()
    set(path "${PROJECT_SOURCE_DIR}/${folder}")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${path}/*.cpp")
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${path}/*.h")
    foreach(excluded IN LISTS arg_EXCLUDE)
        list(REMOVE_ITEM sources "${path}/${excluded}")
    endforeach()
    if(NOT sources AND NOT headers)
        return()
    endif()

    kvplane_target_name("${folder}" target)
    if(sources)
        set(scope PUBLIC)
        add_library(${target} STATIC ${sources})
    else()
        set(scope INTERFACE)
        add_library(${target} INTERFACE)
    endif()
    target_include_directories(${target} ${scope} "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target} ${scope} ${arg_LINK})
    kvplane_link_folders(${target} ${scope} ${arg_DEPENDS})
endfunction()

# kvplane_aggregate(<target> folder...): an INTERFACE library of all folders that exist.
function(kvplane_aggregate target)
    add_library(${target} INTERFACE)
    kvplane_link_folders(${target} INTERFACE ${ARGN})
endfunction()

# kvplane_link_folders(<target> <scope> folder...): links the libraries of existing folders.
function(kvplane_link_folders target scope)
    foreach(folder IN LISTS ARGN)
        kvplane_target_name("${folder}" library)
        if(TARGET ${library})
            target_link_libraries(${target} ${scope} ${library})
        endif()
    endforeach()
endfunction()

function(kvplane_target_name folder out)
    string(REPLACE "/" "_" name "${folder}")
    set(${out} "kvplane_${name}" PARENT_SCOPE)
endfunction()
