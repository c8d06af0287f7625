#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# runs.sh ORRERY_SHADOW SOURCE: in whole runs of the stories under kai the core decides every cycle as
# the model does; a difference ends the program.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
for story in "$2"/scenarios/whatif/*/*.yaml; do
  name=$(basename "$story" .yaml)
  if ! SHADOW_STRICT=1 "$1" run "$story" --policy kai -o "$work/$name.db" >"$work/out" 2>"$work/err" ||
    ! grep -q 'decided twice' "$work/err"; then
    echo "$name: differs, or was not compared" >&2
    head -n 20 "$work/err" >&2
    bad=1
  fi
done
exit $bad
