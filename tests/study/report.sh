#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery report`: the page has its sections, refers to nothing outside itself, and shows text as text.
#
#   report.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
mkdir -p "$work"
dir=$(mktemp -d "$work/report.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"
fail() {
    printf '%s\n' "$1"
    exit 1
}
"$orrery" run "$source/scenarios/whatif/reclaim/reclaim.yaml" --quiet --no-progress -o kai.db
"$orrery" run "$source/scenarios/whatif/reclaim/reclaim.yaml" --policy fifo --quiet --no-progress -o fifo.db 2>/dev/null || true
"$orrery" report kai.db -o kai.html
for id in waits evictions lending figures trust provenance; do
    grep -q "<h2 id=\"$id\">" kai.html || fail "no section $id"
done
grep -q '<td>sweep-11</td><td>research</td>' kai.html || fail "who waited is not told"
grep -q '<tr><td>reclaim</td><td>research</td>' kai.html || fail "what was evicted is not told"
grep -q '<tr><td>product</td><td>research</td>' kai.html || fail "who borrowed is not told"
if command -v gnuplot >/dev/null; then
    [ "$(grep -c '<svg' kai.html)" -ge 7 ] || fail "figures are missing"
fi
# A name space is no reference; anything else with a scheme would be.
if grep -oE '(src|href|url)[=(]["'\'']?(https?:|//)[^"'\'' )]*' kai.html | grep -v 'w3.org'; then
    fail "the page refers to something outside"
fi
grep -q '<script' kai.html && fail "the page has a script"
# Texts of a results file are text.
cat >evil.csv <<'CSV'
job,submit_s,run_s,gpus,queue
<script>alert(1)</script>,0,10,1,"a&b<i>"
CSV
"$orrery" run --trace evil.csv --cluster 1x1 --quiet --no-progress -o evil.db
"$orrery" report evil.db -o evil.html
grep -q '<script' evil.html && fail "a job's name became part of the page"
grep -q '&lt;script&gt;' evil.html || fail "a job's name is missing"
# Several: side by side, with what was changed.
"$orrery" report kai.db fifo.db -o two.html
grep -q '<h2 id="side">' two.html || fail "not side by side"
grep -q '^- *  name: kai' two.html || grep -q -- '-   name: kai' two.html || fail "what was changed is not told"
code=0
"$orrery" report missing.db -o none.html 2>/dev/null || code=$?
{ [ "$code" = 66 ] && [ ! -e none.html ]; } || fail "a missing file leaves a page"
printf 'reported\n'
