#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# format.sh SOURCE: clang-format would change nothing. The programs of tests/bench are written to be
# compared with, not to be read along with the rest.
set -eu
cd "$1"
command -v clang-format >/dev/null 2>&1 || exit 77
find core policies traces sim analysis tests -name '*.[ch]' -not -path 'tests/bench/*' | sort |
  xargs clang-format --dry-run --Werror
