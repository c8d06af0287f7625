#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The same bits from every compiler and level: builds the program with gcc and clang, -O0 and -O3,
# and compares the golden runs of each, twice.
#
#   digests.sh [BUILD_DIR]      default build/digests; kept, so that a second call is quick
#
# CC_LIST names the compilers (default "gcc clang"), JOBS the jobs of make (default 2).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${1:-$root/build/digests}
differs=

for compiler in ${CC_LIST:-gcc clang}; do
    for level in O0 O3; do
        dir=$build/$compiler-$level
        mkdir -p "$dir"
        cmake -S "$root" -B "$dir" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug \
            -DCMAKE_C_FLAGS_DEBUG="-$level" -DORR_TESTS=OFF >"$dir/log" 2>&1 &&
            cmake --build "$dir" -j "${JOBS:-2}" --target orrery >>"$dir/log" 2>&1 ||
            { cat "$dir/log"; exit 1; }
        for pass in 1 2; do
            sh "$here/golden.sh" "$dir/orrery" >"$dir/pass-$pass" 2>&1 &
            [ "$pass" = 2 ] || first=$!
        done
        for pass in "$first" "$!"; do
            wait "$pass" || differs="$differs $compiler-$level"
        done
        case $differs in
        *"$compiler-$level"*)
            printf '%s -%s: DIFFERS\n' "$compiler" "$level"
            cat "$dir/pass-1" "$dir/pass-2"
            ;;
        *) printf '%s -%s: equal, twice\n' "$compiler" "$level" ;;
        esac
    done
done
[ -z "$differs" ]
