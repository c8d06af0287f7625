#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The same bits from every compiler and level: builds the program with gcc and clang, -O0 and -O3,
# and compares the golden runs of each.
#
#   digests.sh [BUILD_DIR]      default build/digests; kept, so that a second call is quick
#
# BUILDS names them (default "gcc-O0 gcc-O3 clang-O0 clang-O3"); one with a slash is a program that somebody
# built already. JOBS: the jobs of make (default 2).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${1:-$root/build/digests}
builds=${BUILDS:-gcc-O0 gcc-O3 clang-O0 clang-O3}
differs=

program() { case $1 in */*) echo "$1" ;; *) echo "$build/$1/orrery" ;; esac }
said() { echo "$build/said-$(echo "$1" | tr / _)"; }
compare() { sh "$here/golden.sh" "$(program "$1")" >"$(said "$1")" 2>&1; }

for name in $builds; do
    case $name in */*) continue ;; esac
    dir=$build/$name
    mkdir -p "$dir"
    cmake -S "$root" -B "$dir" -DCMAKE_C_COMPILER="${name%-*}" -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS_DEBUG="-${name#*-}" -DORR_TESTS=OFF >"$dir/log" 2>&1 &&
        cmake --build "$dir" -j "${JOBS:-2}" --target orrery >>"$dir/log" 2>&1 ||
        { cat "$dir/log"; exit 1; }
done
mkdir -p "$build"
# Two at a time: each is one process.
running=
for name in $builds ''; do
    if [ -n "$running" ]; then
        [ -z "$name" ] || compare "$name" || differs="$differs $name"
        wait "$pid" || differs="$differs $running"
        running=
    elif [ -n "$name" ]; then
        running=$name
        compare "$name" &
        pid=$!
    fi
done
for name in $builds; do
    case " $differs " in
    *" $name "*)
        printf '%s: DIFFERS\n' "$name"
        cat "$(said "$name")"
        ;;
    *) printf '%s: equal\n' "$name" ;;
    esac
done
[ -z "$differs" ]
