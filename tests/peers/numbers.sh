#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compares top-level numbers of a `run --json` document with `name=value,...`. A number is right when
# it rounds to the value at as many decimals as the value has.
set -eu

awk -v wanted="$2" '
/^  "[a-z0-9_]+": / {
    name = $1; gsub(/[":]/, "", name)
    value = $2; sub(/,$/, "", value); gsub(/"/, "", value)
    have[name] = value
}
END {
    n = split(wanted, pairs, ",")
    for (i = 1; i <= n; i++) {
        split(pairs[i], pair, "=")
        name = pair[1]; value = pair[2]
        point = index(value, "."); decimals = point == 0 ? 0 : length(value) - point
        if (!(name in have)) { print name " is missing"; wrong = 1; continue }
        half = 0.5000001 / 10 ^ decimals; off = have[name] - value
        number = value ~ /^-?[0-9.]+$/
        if (number ? off > half || off < -half : have[name] != value) {
            print name " is " have[name] ", expected " value; wrong = 1
        } else print name " = " value
    }
    exit wrong
}' "$1"
