#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# headers.sh SOURCE: every public header compiles alone.
set -eu
cd "$1"
roots=$(find core policies traces sim analysis -type d -name orrery -path '*/include/orrery' | sort)
flags='-std=c11 -fsyntax-only -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -x c'
for root in $roots; do
  flags="$flags -I${root%/orrery}"
done
command -v gcc >/dev/null 2>&1 || exit 77
# each of them is a program of its own to the compiler
# shellcheck disable=SC2086
find $roots -name '*.h' | sort | xargs gcc $flags
