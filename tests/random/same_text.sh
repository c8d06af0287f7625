#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# same_text.sh DRAW: a seed is one scenario, whatever compiled `draw`: the text of 200 seeds has the checksum in
# same_text.sha256. After a change to what is drawn, the checksum this prints belongs there.
set -eu
draw=$(realpath "$1") recorded=$(cat "$(dirname "$0")/same_text.sha256")
. "$(dirname "$0")/../scratch.sh"
seed=1
while [ "$seed" -le 200 ]; do
    mkdir "$seed"
    "$draw" "$seed" "$seed"
    find "$seed" -type f | LC_ALL=C sort | xargs gzip -dcf
    rm -rf "$seed"
    seed=$((seed + 1))
done >text
drawn=$(sha256sum <text | cut -d ' ' -f 1)
[ "$drawn" = "$recorded" ] || fail "200 seeds have the checksum $drawn, recorded is $recorded"
