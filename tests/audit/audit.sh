#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Plants one fault at a time in the results of clean runs; `orrery audit` must find each under its
# rule, and nothing in the clean ones.
#
#   audit.sh ORRERY PLANT WORK_DIR SOURCE_DIR
set -eu

orrery=$1 plant=$2 work=$3 source=$4
mkdir -p "$work"
dir=$(mktemp -d "$work/audit.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

run() {
    name=$1
    shift
    "$orrery" run "$@" --quiet --no-progress -o "$dir/$name.db"
    "$orrery" audit "$dir/$name.db" >"$dir/out" || {
        printf 'clean run %s:\n' "$name"
        cat "$dir/out"
        exit 1
    }
}
log=$source/tests/peers/backfill/hpc2n-exact.swf.gz
run kai "$source/scenarios/whatif/gang/gang.yaml" --policy kai
run fifo --trace "$log" --cluster 240x1 --split 1 --policy fifo
run easy --trace "$log" --cluster 240x1 --split 1 --policy easy

planted=0 missed=0
# fault RUN RULE SQL
fault() {
    cp "$dir/$1.db" "$dir/planted.db"
    "$plant" "$dir/planted.db" "$3"
    code=0
    "$orrery" audit "$dir/planted.db" >"$dir/out" || code=$?
    broken=$(awk -v rule="$2" '$1 == rule { print $3; exit }' "$dir/out")
    planted=$((planted + 1))
    if [ "$code" != 1 ] || [ "${broken:-0}" = 0 ]; then
        printf 'not found as %s: %s\n' "$2" "$3"
        missed=$((missed + 1))
    fi
}
one="(SELECT id FROM job WHERE node IS NOT NULL AND evictions = 0 AND state = 3 ORDER BY id LIMIT 1)"
wide="(SELECT job FROM placement GROUP BY job, nr HAVING count(*) > 1 LIMIT 1)"
cut="(SELECT job FROM attempt LIMIT 1)"
waited="(SELECT id FROM job WHERE start_ms > submit_ms + 3600000 ORDER BY id LIMIT 1)"

fault kai times "UPDATE job SET submit_ms = start_ms + 1 WHERE id = $one"
fault kai times "UPDATE job SET end_ms = start_ms - 1 WHERE id = $one"
fault kai times "UPDATE placement SET end_ms = end_ms + 864000000 WHERE job = $cut AND nr = 1"
fault kai capacity "UPDATE node SET gpus = 7 WHERE id = 0"
fault kai capacity "UPDATE job SET node = 0 WHERE node IS NOT NULL"
fault kai devices "UPDATE job SET devices = 1 WHERE node = 0"
fault kai devices "UPDATE job SET devices = 1 << 20 WHERE id = $one"
fault kai amount "UPDATE placement SET mgpu = mgpu - 1000 WHERE job = $wide"
fault kai amount "UPDATE placement SET mgpu = 2 * mgpu WHERE job = $cut"
fault kai gang "DELETE FROM placement WHERE rowid = (SELECT min(rowid) FROM placement WHERE job = $wide)"
fault kai gang "UPDATE placement SET pods = pods + 1 WHERE job = $wide"
fault kai gang "UPDATE job SET pods = pods + 1, min_pods = pods + 1 WHERE id = $wide"
fault kai counts "UPDATE job SET evictions = evictions + 1 WHERE id = $one"
fault kai counts "DELETE FROM attempt WHERE job = $cut"
fault kai counts "UPDATE job SET start_ms = NULL, end_ms = NULL WHERE id = $one"
fault kai counts "UPDATE job SET state = 2 WHERE id = $one"
fault kai names "UPDATE job SET node = 4711 WHERE id = $one"
fault kai names "UPDATE placement SET job = 4711 WHERE job = $wide"
fault kai limit "UPDATE queue SET gpu_limit = 1"
fault kai reclaim "UPDATE queue SET gpu_quota = 100000"
fault fifo order "UPDATE job SET end_ms = end_ms - start_ms + submit_ms, start_ms = submit_ms WHERE id = $waited"
fault fifo head "UPDATE job SET end_ms = end_ms + 60000, start_ms = start_ms + 60000 WHERE id = $waited"
fault easy head "UPDATE job SET end_ms = end_ms + 60000, start_ms = start_ms + 60000 WHERE id = $waited"
fault easy promise "UPDATE job SET estimate_ms = estimate_ms * 50"

# The same jobs by a scheduler that keeps no promise: what a stored run and a list of starts say.
"$orrery" run --trace "$log" --cluster 240x1 --split 1 --policy easy --param variant=unguarded --quiet \
    --no-progress -o "$dir/unguarded.db"
"$orrery" export "$dir/unguarded.db" jobs >"$dir/unguarded.csv"
for result in "$dir/unguarded.db" "--trace $log --split 1 --cluster 240x1 --rules easy --schedule $dir/unguarded.csv"; do
    # shellcheck disable=SC2086
    "$orrery" audit $result >"$dir/out" && missed=$((missed + 1))
    grep -q '^promise  *840  *250 ' "$dir/out" || {
        cat "$dir/out"
        missed=$((missed + 1))
    }
done
[ "$missed" -eq 0 ] && printf '%s planted faults were found\n' "$planted"
