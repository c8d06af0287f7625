#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The commands of scenarios/snapshot/README.md print what stands below them there. With --write as third argument the
# README is written anew instead.
#
#   story.sh ORRERY SOURCE_DIR [--write]
set -eu
orrery=$(realpath "$1") source=$(realpath "$2")
. "$source/tests/scratch.sh"
readme=$source/scenarios/snapshot/README.md
mkdir -p bin at/snapshot
ln -s "$orrery" bin/orrery
ln -s "$source/traces" traces
cp "$source/scenarios/snapshot/cluster.json.gz" at/snapshot
cd at/snapshot
PATH=$dir/bin:$PATH COLUMNS=120
export PATH COLUMNS

# Lines that are not below a command as they are, then each command with what it prints.
awk '/^    \$ /                 { command = substr($0, 7); print; below = 1
                                 while ((command | getline line) > 0) print line == "" ? "" : "    " line
                                 close(command); print ""; next }
     below && (/^    / || /^$/) { next }
     { below = 0; print }' "$readme" >"$dir/new" 2>"$dir/err"
cd "$dir"
if [ "${3:-}" = --write ]; then
    cp new "$readme"
else
    diff "$readme" new >out || fail 'README.md differs from what its commands print (story.sh ORRERY SOURCE --write)'
fi
