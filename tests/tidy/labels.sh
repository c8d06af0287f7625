#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every test carries exactly one label, quick or full; every room keeps tests in the quick loop.
#
#   labels.sh FILE      FILE: a line `NAME LABEL` for each test, as CMake wrote it
set -eu

awk '
    $2 != "quick" && $2 != "full" || NF != 2 { print "label of " $1 ": expected quick or full, found \"" $2 "\""; wrong = 1 }
    { room = $1; sub(/\..*/, "", room); rooms[room]; quick[room] += $2 == "quick" }
    END {
        for (room in rooms) if (!quick[room]) { print "no quick test in room " room; wrong = 1 }
        if (NR == 0) { print "no tests listed"; wrong = 1 }
        exit wrong
    }' "$1"
