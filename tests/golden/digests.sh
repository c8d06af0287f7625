#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The same bits from every compiler and level: builds the program with gcc and clang, -O0 and -O3,
# and compares the golden runs of each.
#
#   digests.sh [BUILD_DIR]      default build/digests; kept, so that a second call is quick
#
# BUILDS names them (default "gcc-O0 gcc-O3 clang-O0 clang-O3"), JOBS the jobs of make (default 2).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${1:-$root/build/digests}
differs=

for name in ${BUILDS:-gcc-O0 gcc-O3 clang-O0 clang-O3}; do
    dir=$build/$name
    mkdir -p "$dir"
    cmake -S "$root" -B "$dir" -DCMAKE_C_COMPILER="${name%-*}" -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS_DEBUG="-${name#*-}" -DORR_TESTS=OFF >"$dir/log" 2>&1 &&
        cmake --build "$dir" -j "${JOBS:-2}" --target orrery >>"$dir/log" 2>&1 ||
        { cat "$dir/log"; exit 1; }
done
# Two at a time: each is one process.
running=
for name in ${BUILDS:-gcc-O0 gcc-O3 clang-O0 clang-O3} ''; do
    if [ -n "$running" ]; then
        [ -z "$name" ] || sh "$here/golden.sh" "$build/$name/orrery" >"$build/$name/said" 2>&1 || differs="$differs $name"
        wait "$pid" || differs="$differs $running"
        running=
    elif [ -n "$name" ]; then
        running=$name
        sh "$here/golden.sh" "$build/$name/orrery" >"$build/$name/said" 2>&1 &
        pid=$!
    fi
done
for name in ${BUILDS:-gcc-O0 gcc-O3 clang-O0 clang-O3}; do
    case " $differs " in
    *" $name "*)
        printf '%s: DIFFERS\n' "$name"
        cat "$build/$name/said"
        ;;
    *) printf '%s: equal\n' "$name" ;;
    esac
done
[ -z "$differs" ]
