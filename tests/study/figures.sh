#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery plot` for print: PDF and sizes in mm, fonts, no title, the script itself.
#
#   figures.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"
command -v gnuplot >/dev/null || exit 77

"$orrery" run "$source/scenarios/whatif/gang/gang.yaml" --quiet --no-progress -o g.db
"$orrery" plot g.db --width 84 --no-title -o narrow >out || fail "figures of a column"
for file in narrow/*.svg; do # 84 mm are 317.5 pixels of CSS
    grep -q 'width="31[78]"' "$file" || fail "$file is not 84 mm wide: $(head -c 300 "$file")"
done
grep -q 'policy kai' narrow/g-depth.svg && fail "a title that nobody wanted"
"$orrery" plot g.db depth >out
grep -q 'policy kai' g-depth.svg || fail "no title"
"$orrery" plot g.db depth --font 'Times,12' >out
grep -q 'Times' g-depth.svg || fail "no such font"
"$orrery" plot g.db depth share wait-cdf -t pdf --width 84 >out || fail "PDF"
for figure in depth share wait-cdf; do
    [ "$(head -c 5 g-$figure.pdf)" = '%PDF-' ] || fail "$figure is no PDF"
done
# 84 mm are 238.1 points
grep -a -q 'MediaBox \[ *0 0 238' g-depth.pdf || fail "not 84 mm: $(grep -a MediaBox g-depth.pdf)"
"$orrery" plot g.db depth --script -o script >out
[ "$(cat out)" = "$(printf 'script/g-depth.gp\nscript/g-depth.dat')" ] || fail "script: $(cat out)"
(cd script && gnuplot g-depth.gp) || fail "the script does not draw"
[ -s script/g-depth.svg ] || fail "the script draws nothing"
code=0
"$orrery" plot g.db depth -t dumb --width 84 2>err >out || code=$?
{ [ "$code" = 64 ] && grep -q 'not for dumb' err; } || fail "exit $code: characters in mm"
code=0
"$orrery" plot g.db depth --width wide 2>err >out || code=$?
[ "$code" = 64 ] || fail "exit $code: a width that is none"

printf 'drawn\n'
