#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# fgd.sh PROGRAM FOLDER POLICY [FROM TO]: the published curve of a policy; FROM TO: with one text of its
# places changed, which must be noticed.
set -eu
program=$1 folder=$2 policy=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
for name in nodes pods "$policy.places" "$policy.curve"; do
    gzip -dc "$folder/$name.csv.gz" >"$work/$name.csv"
done
sed -n "s/^$policy,//p" "$folder/published.csv" >"$work/table.csv"
if [ $# -gt 3 ]; then
    sed -i "s/$4/$5/" "$work/$policy.places.csv"
fi
"$program" "$work/nodes.csv" "$work/pods.csv" "$work/$policy.places.csv" "$work/$policy.curve.csv" "$work/table.csv"
