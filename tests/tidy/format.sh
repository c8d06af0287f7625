#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# format.sh SOURCE STAMP: clang-format would change nothing in any file that is newer than STAMP, which is renewed
# when that is so: in a new build folder every file is looked at, then those that somebody edited. The programs of
# tests/bench are written to be compared with, not to be read along with the rest.
set -eu
stamp=$(realpath "$2")
cd "$1"
command -v clang-format >/dev/null 2>&1 || exit 77
touch "$stamp.new"
newer=
[ ! -e "$stamp" ] || [ .clang-format -nt "$stamp" ] || [ tests/tidy/format.sh -nt "$stamp" ] || newer="-newer $stamp"
# shellcheck disable=SC2086 # two words or none
find core policies traces sim analysis tests -name '*.[ch]' -not -path 'tests/bench/*' $newer | sort |
  xargs -r clang-format --dry-run --Werror
mv "$stamp.new" "$stamp"
