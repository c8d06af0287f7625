#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What `orrery audit` says of a published schedule: the number of broken rules.
#
#   verdict.sh ORRERY BROKEN AUDIT_OPTION...
set -eu
orrery=$1 wanted=$2
shift 2
got=$("$orrery" audit "$@" --json | awk '$1 == "\"broken\":" { sub(/,/, "", $2); print $2; exit }')
[ "$got" = "$wanted" ] || { printf 'broken %s times, expected %s\n' "$got" "$wanted"; exit 1; }
