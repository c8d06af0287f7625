#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Manual pages from what --help says.
#   make.sh ORRERY FOLDER
set -eu
orrery=$1 folder=$2 here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
version=$("$orrery" --version | cut -d' ' -f2)
# No option reaches the column of meanings, and none has its meaning on a line of its own.
ARGP_HELP_FMT=rmargin=2000,opt-doc-col=200
LC_ALL=C
export ARGP_HELP_FMT LC_ALL
"$orrery" --help >"$folder/verbs"
awk -v verb= -v summary="replay a GPU cluster's jobs under a scheduling policy" -v version="$version" -f "$here/man.awk" \
    "$folder/verbs" >"$folder/orrery.1"
sed -nE 's/^  ([a-z]+) +(.*)/\1 \2/p' "$folder/verbs" | while read -r verb summary; do
    [ "$verb" != orrery ] || continue
    "$orrery" "$verb" --help | awk -v verb="$verb" -v summary="$summary" -v version="$version" -f "$here/man.awk" >"$folder/orrery-$verb.1"
done
rm "$folder/verbs"
