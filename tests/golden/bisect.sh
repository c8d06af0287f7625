#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# For `git bisect run`: does the program of the commit at hand decide as a results file says?
#
#   git bisect start BAD GOOD
#   git bisect run sh /path/to/a/copy/of/bisect.sh BASE.db SCENARIO [OPTION OF run...]
#
# BASE.db is of the good commit, of the same scenario and options. Exit code 0: the digest is the same, 1: it is
# another (the first decision that differs is printed), 125: this commit does not build or run, so that git passes
# over it. Run a copy that does not change while commits come and go.
set -eu
base=$(realpath "$1") scenario=$2
shift 2
root=$(git rev-parse --show-toplevel)
build=$root/build/bisect
new=$build/new.db

mkdir -p "$build"
cmake -S "$root" -B "$build" -DORR_TESTS=OFF -DORR_LTO=OFF >"$build/log" 2>&1 &&
    cmake --build "$build" -j "$(nproc)" --target orrery >>"$build/log" 2>&1 || exit 125
"$build/orrery" run "$scenario" "$@" -q --no-progress --force -o "$new" 2>>"$build/log" || [ $? = 1 ] || exit 125

digest() { sqlite3 "file:$1?mode=ro" 'SELECT digest FROM run'; }
[ "$(digest "$new")" != "$(digest "$base")" ] || exit 0
"$build/orrery" diff "$new" "$base" --decisions || true
exit 1
