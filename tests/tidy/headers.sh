#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# headers.sh SOURCE: every public header compiles alone, with each compiler there is.
set -eu
cd "$1"
roots=$(find core policies traces sim analysis -type d -name orrery -path '*/include/orrery' | sort)
flags='-std=c11 -fsyntax-only -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -x c'
for root in $roots; do
  flags="$flags -I${root%/orrery}"
done
bad=0 tried=0
for compiler in gcc clang; do
  command -v $compiler >/dev/null 2>&1 || continue
  tried=1
  for root in $roots; do
    for header in $(find "$root" -name '*.h' | sort); do
      name=${header#*/include/}
      # shellcheck disable=SC2086
      printf '#include <%s>\nint alone;\n' "$name" | $compiler $flags - || {
        echo "$header does not compile alone with $compiler" >&2
        bad=1
      }
    done
  done
done
[ $tried = 1 ] || exit 77
exit $bad
