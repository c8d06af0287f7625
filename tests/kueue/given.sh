#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Vectors of Kueue that are too many to ship: ORRERY_TEST_DATA names a folder with kueue/*.json, or
# conformance/kueue/*.json. None may fail; skipped ones name what is missing, and are few. Skipped without it.
#
#   given.sh ORRERY WORK_DIR
set -eu
[ -n "${ORRERY_TEST_DATA:-}" ] && command -v jq >/dev/null || exit 77
data=$(realpath "$ORRERY_TEST_DATA")
[ -d "$data/kueue" ] || data=$data/conformance
[ -d "$data/kueue" ] || exit 77
orrery=$1 work=$2
. "$(dirname "$0")/../scratch.sh"

"$orrery" conform "$data/kueue" --json >out 2>err || fail "$(jq -r '.entries[] | select(.verdict == "failed") | .id + ": " + .text' out | head -3)"
jq -e '.failed == 0 and .passed > 0 and .skipped * 100 <= 3 * (.passed + .skipped)' out >/dev/null ||
    fail "more than 3 % are skipped: $(jq -r '.entries[] | select(.verdict == "skipped") | .text' out | sort | uniq -c)"
