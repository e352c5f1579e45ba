# SPDX-License-Identifier: Apache-2.0
# Sourced by run.sh and test.sh: named, timed phases and the incremental build.

export SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1

# phase <name> <command...>: runs the command and prints how long it took.
phase() {
    local name=$1 begin=${EPOCHREALTIME/./} status=0 elapsed
    shift
    "$@" || status=$?
    elapsed=$(((${EPOCHREALTIME/./} - begin) / 1000))
    printf '== %s: %d.%03d s%s\n' "$name" $((elapsed / 1000)) $((elapsed % 1000)) \
        "$([[ $status -eq 0 ]] || echo ', FAILED')"
    return "$status"
}

# build <preset> [cmake --build arguments]: configures when needed, then builds.
build() {
    local preset=$1
    shift
    if [[ ! -f build/$preset/build.ninja || CMakePresets.json -nt build/$preset/build.ninja ]]; then
        cmake --preset "$preset" || return
    fi
    cmake --build --preset "$preset" "$@"
}
