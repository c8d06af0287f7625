#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What scenarios/whatif/topology says of itself: its tables are those of its README, and they tell
# the places and the ways of asking for one apart. usage: topology.sh ORRERY FOLDER
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
sh "$2/table.sh" "$1" >"$dir/made"
grep '^|' "$2/README.md" >"$dir/told"
grep '^| `\|^| in-\|^| across' "$dir/made" | sort >"$dir/rows"
grep '^| `\|^| in-\|^| across' "$dir/told" | sort | diff - "$dir/rows" || exit 1
# columns: 2 name; of places 3 extent, 5 rate, 6 hours; of variants 3 wait, 4 rate, 6 hours
awk -F'|' '
    function number(text) {sub(/^ */, "", text); return text + 0}
    {gsub(/[ `]/, "", $2)}
    $2 ~ /^in-|^across/ {extent[$2] = $3; rate[$2] = number($5); hours[$2] = number($6); next}
    {wait[$2] = number($3); rate[$2] = number($4); hours[$2] = number($6)}
    END {
        a = "in-one-nvlink-rack"; b = "in-one-rack"; c = "across-racks"
        if (!(rate[a] > rate[b] && rate[b] > rate[c] && hours[a] < hours[b] && hours[b] < hours[c])) exit 1
        if (extent[a] == extent[b] || extent[b] == extent[c]) exit 1
        if (!(rate["required"] > rate["preferred"] && rate["preferred"] > rate["off"])) exit 1
        if (!(hours["required"] < hours["preferred"] && hours["preferred"] < hours["off"])) exit 1
        if (!(wait["preferred"] < wait["still"] && wait["required"] < wait["still"] && wait["still"] < wait["off"])) exit 1
    }' "$dir/rows" || {
    cat "$dir/made"
    exit 1
}
