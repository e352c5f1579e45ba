#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing; quick and silent when none is.
set -euo pipefail

packages=(
    g++ cmake ninja-build ccache pkg-config git
    libsystemc-dev libgtest-dev libgmock-dev libbenchmark-dev
    libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libfmt-dev libboost-dev libxxhash-dev libisal-dev
    verilator yosys z3 berkeley-abc zlib1g-dev
    clang-format clang-tidy python3 time
)

installed="$(dpkg-query -W -f '${db:Status-Status} ${binary:Package}\n' 2>/dev/null |
    sed -n 's/^installed \([^:]*\).*/\1/p')"
missing=()
for package in "${packages[@]}"; do
    grep -Fxq -- "$package" <<<"$installed" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: as root, run: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y)

echo "setup: installing ${missing[*]}"
"${as_root[@]}" update
"${as_root[@]}" install --no-install-recommends "${missing[@]}"
