#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs the baseline on the bundled workload.
# Arguments go to `kvplane run`, e.g. --set driver.mechanism=copy-engine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/phases.sh

out=(--out out/baseline)
for argument in "$@"; do
    [[ $argument == --out || $argument == --out=* ]] && out=()
done

phase setup scripts/setup.sh
phase build build release --target kvplane
phase run build/release/kvplane run configs/baseline.yaml "${out[@]}" "$@"
