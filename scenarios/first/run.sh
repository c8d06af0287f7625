#!/bin/sh
# Installs what is missing, builds, replays the Philly trace and draws the figures.
# usage: sh scenarios/first/run.sh [FOLDER]    results and figures go to FOLDER (default: ./first)
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-first}
sh "$root/.ci/install" build
echo "building orrery into $root/build/user: one or two minutes the first time"
cmake -S "$root" -B "$root/build/user" -DORR_TESTS=OFF >/dev/null
cmake --build "$root/build/user" -j "$(nproc)" --target orrery >/dev/null
mkdir -p "$out"
"$root/build/user/orrery" run "$root/scenarios/first/first.yaml" -o "$out/first.db" --force
"$root/build/user/orrery" plot "$out/first.db" -o "$out"
cat <<TEXT

What the waits mean: most jobs of this trace ask one GPU and start at once (p50 0 s). The queue forms
in the weeks when demand nears 768 GPUs. Small jobs then pass the large ones that wait for whole free
nodes: p95 and p99 come from those weeks, and the longest wait is a gang that small jobs kept passing.
Compare:  $root/build/user/orrery whatif $root/scenarios/first/first.yaml --variant strict
Why one waited:  $root/build/user/orrery explain $out/first.db p31623
TEXT
