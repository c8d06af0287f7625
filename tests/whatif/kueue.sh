#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tables of scenarios/whatif/kueue/README.md are those that its table.sh makes. usage: kueue.sh ORRERY FOLDER
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
sh "$2/table.sh" "$1" | grep '^|' >"$dir/made"
grep '^|' "$2/README.md" | diff - "$dir/made"
