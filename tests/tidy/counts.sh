#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# counts.sh SOURCE: a number that is printed and its noun agree, "1 GPU" and "2 GPUs": "%u GPU%s" with ORR_PLURAL
# (base/text.h). Limits ("more than %d rows") are of many; decimals ("%.1f days") are not counts.
set -eu
cd "$1"
cat >"${TMPDIR:-/tmp}/counts.$$.awk" <<'AWK'
function judge(at, text, rest) {
    rest = text
    while (match(rest, /%[-+ #0]*[0-9]*(\.[0-9]+)?(ll|l|z|j)?[udg] ((more|trace|other|pod|waiting|running|further) )?(GPUs|jobs|pods|nodes|runs|seeds|pairs|replicas|rows|records|queues|files|evictions|events|points|cycles|services|failures|shards|rules|futures|moments|forecasts|settings|parts|subgroups|fields|flavors|targets)[^a-z_]/)) {
        if (substr(rest, 1, RSTART - 1) !~ /(more than|at most|takes 2 to|From|are in) $/) {
            print at ": " substr(rest, RSTART > 30 ? RSTART - 30 : 1, RLENGTH + 40)
        }
        rest = substr(rest, RSTART + RLENGTH)
    }
}
# Literals that stand beside each other are one.
{
    line = $0
    if (FNR > 1 && held ~ /"$/ && line ~ /^ *"/) {
        sub(/^ *"/, "", line)
        held = substr(held, 1, length(held) - 1) line
        next
    }
    judge(place, held)
    held = line
    place = FILENAME ":" FNR
}
END { judge(place, held) }
AWK
bad=$(find core policies traces sim analysis -name '*.[ch]' | sort | xargs awk -f "${TMPDIR:-/tmp}/counts.$$.awk")
rm "${TMPDIR:-/tmp}/counts.$$.awk"
[ -z "$bad" ] && exit 0
printf '%s\na noun that does not agree with 1: "%%u job%%s", n, ORR_PLURAL(n)\n' "$bad"
exit 1
