#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# philly3d.sh under srtf, with the costs of the simulator that it is held against: a job ends a second after its work
# is done, and a restart takes 7 s for one GPU, 30 s up to eight, 60 s above.
#
#   srtf.sh ORRERY WORK_DIR DATA_DIR EXPECTED JCT_S WAIT_S MAKESPAN_S RUN_OPTION...
set -eu

orrery=$1 work=$2 data=$3
shift 3

mkdir -p "$work"
costs=$(mktemp -d "$work/srtf.XXXXXX")
trap 'rm -rf "$costs"' EXIT
trap 'exit 1' HUP INT TERM

gzip -dc "$data/trace.csv.gz" | awk -F, -v OFS=, '
NR == 1 { print $0, "restart_s"; next }
{ print $1, $2, $3, $4 + 1, $5, $5 == 1 ? 7 : $5 <= 8 ? 30 : 60 }' | gzip >"$costs/trace.csv.gz"
sh "$(dirname "$0")/philly3d.sh" "$orrery" "$work" "$costs" "$@"
