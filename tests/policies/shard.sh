#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every leaf of a real SchedulingShard is heeded, listed once as without effect, or refused by name, under
# `schedule` and in `run`. usage: sh shard.sh ORRERY LEAVES
set -eu
LC_ALL=C
export LC_ALL
orrery=$1
leaves=$2
. "$(dirname "$0")/../scratch.sh"

# The first row of each path, or the others.
rows() { awk -F'\t' -v first="$1" '!/^#/ { seen[$1]++; if ((seen[$1] == 1) == first) print }' "$leaves"; }

# Rows as a tree; numbers and booleans are bare, except those below args and arguments.
tree() {
    jq -Rn '[inputs | split("\t")] | reduce .[] as $r ({};
        setpath($r[0] | split("."); if ($r[0] | test("^args|arguments")) then $r[1]
            else ($r[1] as $v | try ($v | fromjson | if type == "string" then $v else . end) catch $v) end))'
}

# What lines say of each row: "PATH status", as often as they say it.
said() {
    awk '{
        for (i = 2; i < NF; i++) if ($i == "=") path = $(i - 1)
        if (/ has no effect here: /) print path, "idle"
        else if (/ is not heeded: /) print path, "refused"
    }' | sort
}
expected() { awk -F'\t' -v column="$1" '$column != "heeded" { print $1, $column }' | sort; }
compare() { diff "$1" "$2" >&2 || fail "$3: expected left, got right"; }

# --- schedule: objects ---

schedule() {
    tree | jq '{apiVersion: "v1", kind: "List", items: [
        {apiVersion: "kai.scheduler/v1", kind: "SchedulingShard", metadata: {name: "s"}, spec: .},
        {apiVersion: "v1", kind: "Node", metadata: {name: "n", labels: {"kai.scheduler/node-pool": "a", "a/g": "", "node-role.kubernetes.io/gpu-worker": ""}}},
        {apiVersion: "v1", kind: "Node", metadata: {name: "m", labels: {"a/g": "", "node-role.kubernetes.io/gpu-worker": ""}}}]}' >list.json
    "$orrery" schedule --json $1 list.json >answer.json || fail "schedule refused: $(cat list.json)"
    jq -r '.notes[].note' answer.json | grep '^setting ' | sed 's/^setting //; s/^/x /' | said
}
rows 1 >rows
schedule '--shard a' <rows >got
expected 3 <rows >want
compare want got schedule
rows 0 | while IFS= read -r row; do
    printf '%s\n' "$row" >row
    schedule '' <row >got
    expected 3 <row >want
    compare want got "schedule: $row"
done

# --- run: policy.params ---

printf 'job_id,submit_s,duration_s,queue,gpus\n1,0,60,q,1\n' >t.csv

run() {
    tree | jq '{cluster: {pools: {p: {nodes: 1, gpus: 1}}}, queues: {q: {}}, policy: {name: "kai", params: .},
        workload: [{name: "w", trace: "t.csv"}]}' >scenario.yaml
    "$orrery" run scenario.yaml --out out.db --force >answer 2>said
}
rows 1 | awk -F'\t' '$4 != "refused"' >rows
run <rows || fail "run refused a shard's block: $(cat said)"
said <said >got
expected 4 <rows >want
compare want got run
{
    rows 0
    rows 1 | awk -F'\t' '$4 == "refused"'
} | while IFS= read -r row; do
    printf '%s\n' "$row" >row
    status=$(printf '%s\n' "$row" | cut -f4)
    path=$(printf '%s\n' "$row" | cut -f1)
    if [ "$status" = refused ]; then
        if run <row; then fail "run took $row"; fi
        grep -qF "parameter $path: " said || fail "run does not name $path: $(cat said)"
    else
        run <row || fail "run refused $row"
        said <said >got
        expected 4 <row >want
        compare want got "run: $row"
    fi
done
