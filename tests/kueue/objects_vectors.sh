#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Vectors of whole cycles as Kueue's objects in YAML (objects.jq), given to `orrery schedule --policy kueue`: it decides as
# the vectors expect, and gives Kueue's reasons (objects_check.jq). Those of the folder, and of ORRERY_TEST_DATA if it is set.
#
#   objects_vectors.sh ORRERY SOURCE_DIR WORK_DIR
set -eu
command -v jq >/dev/null || exit 77
orrery=$(realpath "$1") tests=$2/tests/kueue work=$3
data=${ORRERY_TEST_DATA:+$(realpath "$ORRERY_TEST_DATA")}
[ -z "$data" ] || [ -d "$data/kueue" ] || data=$data/conformance
. "$2/tests/scratch.sh"

# check FOLDER
check() {
    rm -f ./*.yaml answers
    "$orrery" conform "$1" --json >passed.json 2>err || true
    jq -rn --slurpfile passed passed.json -f "$tests/objects.jq" "$1"/cycle-*.json >all
    awk '/^#### / { file = $2 ".yaml"; print $2, $3 >"list" } { print >file }' all
    [ "$(wc -l <list)" -gt 100 ] || fail "$1: few vectors of cycles"
    while read -r index cycles; do
        "$orrery" schedule --policy kueue --cycles "$cycles" --now 2026-01-01T00:00:00Z "$index.yaml" --json \
            >>answers 2>err || fail "$(head -1 "$index.yaml")"
    done <list
    jq -rn --slurpfile passed passed.json --slurpfile answers answers -f "$tests/objects_check.jq" "$1"/cycle-*.json >out
    [ ! -s out ] || fail "$(wc -l <out) differences in $(wc -l <list) vectors"
}

check "$tests/vectors"
[ ! -d "$data/kueue" ] || check "$data/kueue"
