#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# evidence.sh ORRERY SOURCE: what `orrery policies kai` and `kueue` name as evidence exists.
set -eu
orrery=$1 source=$2
{ "$orrery" policies kai && "$orrery" policies kueue; } | sed -n 's/^      evidence: //p' | tr ';' '\n' | sed 's/^ *//; s/ *$//' >evidence.txt
[ -s evidence.txt ] || { echo 'no evidence is listed'; exit 1; }
bad=0
while read -r kind first second; do
  case $kind in
    case)
      grep -rqF "\"$first\"" "$source/tests/conformance" "$source/tests/case" ||
        { echo "no case $first"; bad=1; } ;;
    test)
      file="$source/tests/unit/$first.c"
      { [ -f "$file" ] && grep -q "^static void $second(" "$file" &&
        grep -qE "cmocka_unit_test(_prestate)?\($second[,)]" "$file"; } ||
        { echo "no test $second in $first"; bad=1; } ;;
    vector)
      grep -rqF "\"$first${second:+ $second}\"" "$source/tests/kueue/vectors" "$source/tests/kueue/own" ||
        { echo "no vector $first $second"; bad=1; } ;;
    run) [ -f "$source/tests/kueue/$first.case" ] || { echo "no run $first"; bad=1; } ;;
    specification) ;;
    *) echo "what is \"$kind $first\"?"; bad=1 ;;
  esac
done <evidence.txt
rm -f evidence.txt
exit $bad
