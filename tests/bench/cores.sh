#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A log of the size and shape of the largest in the Parallel Workloads Archive that are replayed core by core: 312,807
# jobs of up to 20,000 pods on 93,312 nodes of one GPU. Prints CPU seconds, peak memory and the size of the results.
# Usage: cores.sh ORRERY [JOBS]
set -eu
orrery=$1 jobs=${2:-312807}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
awk -v jobs="$jobs" 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()) }
    BEGIN {
        srand(1)
        split("14 4 5 7 12 16 12 10 8 6 3.2 1.6 0.7 0.25 0.08", weight, " ") # of 1, 2, 4, ... 16384 pods
        for (i = 1; i <= 15; i++) all += weight[i]
        print "; MaxNodes: 93312\n; UnixStartTime: 1296687600"
        for (j = 1; j <= jobs; j++) {
            at -= 160 * log(1 - rand())
            left = all * rand()
            for (i = 1; i < 15 && left >= weight[i]; i++) left -= weight[i]
            size = 2 ^ (i - 1)
            if (rand() < 0.15) size = 1 + int(size * (0.6 + rand()))
            run = 1 + int(exp(8.9 + 2.1 * normal()))
            run = run > 259200 ? 259200 : run
            want = 60 + int(run * (1 + 4 * rand()))
            print j, int(at), -1, run, size, -1, -1, size, want, -1, 1, 1 + int(700 * rand()), 1, -1, 1 + int(6 * rand()), 1, -1, -1
        }
    }' >"$scratch/log.swf"
for policy in fifo easy; do
    /usr/bin/time -f "$policy: %U s user, %S s system, %M kB" "$orrery" run --trace "$scratch/log.swf" --cluster 93312x1 --split 1 \
        --policy $policy -q -o "$scratch/results.db"
    echo "$policy: $(($(wc -c <"$scratch/results.db") / 1000000)) MB of results, digest $(sqlite3 "$scratch/results.db" 'SELECT digest FROM run')"
    rm "$scratch/results.db"
done
