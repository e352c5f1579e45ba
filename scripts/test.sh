#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs the checks and tests.
#   --full  also clang-tidy, the sanitizer build with its tests, and tests labelled `full`: long runs,
#           netlists, seeded bugs and coverage of the RTL among them
# Every check runs even if one before it failed; the exit status is that of all of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/phases.sh
export KVPLANE_SHARED="${KVPLANE_SHARED:-$(dirname "$PWD")/shared}"

full=false
for argument in "$@"; do
    case $argument in
        --full) full=true ;;
        *)
            echo "usage: scripts/test.sh [--full]" >&2
            exit 2
            ;;
    esac
done

failed=()
check() {
    phase "$@" || failed+=("$1")
}

phase setup scripts/setup.sh
phase "build release" build release
check layers scripts/check_layers
check format scripts/check_format
ctest_arguments=(--no-tests=error --output-on-failure -j2)
if $full; then
    check tidy scripts/check_tidy
    if phase "build asan" build asan; then
        check "ctest asan" ctest --test-dir build/asan "${ctest_arguments[@]}" -LE '^full$'
    else
        failed+=("build asan")
    fi
else
    ctest_arguments+=(-LE '^full$')
fi

# Last, so that its summary closes the output; it prints its own time.
ctest --test-dir build/release "${ctest_arguments[@]}" || failed+=("ctest release")
if [[ ${#failed[@]} -ne 0 ]]; then
    printf 'FAILED: %s\n' "${failed[@]}"
    exit 1
fi
