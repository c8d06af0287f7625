#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The two tables of README.md: means of seeds 1 to 10, the worst seed in brackets.
# usage: sh scenarios/mixed/table.sh [ORRERY [POLICY...]]    default: build/user/orrery kai kube static
set -eu
here=$(cd "$(dirname "$0")" && pwd)
orrery=${1:-$here/../../build/user/orrery}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- kai kube static
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

for policy in "$@"; do
    for seed in 1 2 3 4 5 6 7 8 9 10; do # an unmet expectation (exit 1) is part of the story
        "$orrery" run "$here/mixed.yaml" --policy "$policy" --seed $seed -o "$dir/r.db" --force --quiet --no-progress 2>"$dir/err" || [ $? = 1 ] || {
            cat "$dir/err" >&2
            exit 1
        }
        sqlite3 -separator ' ' "$dir/r.db" "SELECT '$policy', CASE scope WHEN 'workload' THEN substr(label, 10) || '_' ELSE '' END || name, value FROM metric
            WHERE scope = 'all' OR scope = 'workload'"
    done
done | awk '
function mean(name) { return sum[p, name] / 10 }
function thousands(x,    text) { text = sprintf("%.0f", x); return length(text) > 3 ? substr(text, 1, length(text) - 3) "," substr(text, length(text) - 2) : text }
!($1 in known) { known[$1]; policy[++count] = $1 }
{ k = $1 SUBSEP $2; sum[k] += $3; if (!(k in least) || $3 < least[k]) least[k] = $3; if (!(k in most) || $3 > most[k]) most[k] = $3 }
END {
    print "| policy | chat in time | code in time | notebooks within 60 s | notebooks that gave up | occupancy | goodput |"
    print "|---|---|---|---|---|---|---|"
    for (i = 1; i <= count; i++) { p = policy[i]
        printf "| %s | %.3f (%.3f) | %.3f (%.3f) | %.3f (%.3f) | %.3f (%.3f) | %.3f | %.3f |\n", p, mean("chat_attainment"), least[p, "chat_attainment"],
            mean("code_attainment"), least[p, "code_attainment"], mean("notebooks_attainment"), least[p, "notebooks_attainment"],
            mean("notebooks_gave_up_share"), most[p, "notebooks_gave_up_share"], mean("gpu_occupancy"), mean("gpu_goodput") }
    print "\n| policy | evictions | training GPU-hours lost | in restarts | in checkpoints | held by gangs that waited |"
    print "|---|---|---|---|---|---|"
    for (i = 1; i <= count; i++) { p = policy[i]
        printf "| %s | %.0f | %s%s | %s | %s | %s |\n", p, mean("evictions"), thousands(mean("lost_gpu_h")),
            (most[p, "lost_gpu_h"] > 0 ? " (" thousands(most[p, "lost_gpu_h"]) ")" : ""), thousands(mean("restart_gpu_h")), thousands(mean("checkpoint_gpu_h")), thousands(mean("gang_wait_gpu_h")) }
}'
