#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# symbols.sh ARCHIVE: what liborrery-core needs from outside is on this list, and is no file, clock,
# random source or library.
set -eu
command -v nm >/dev/null 2>&1 || exit 77
allowed=' abort calloc free malloc realloc
 bcmp memchr memcmp memcpy memmove memset strchr strcmp strcspn strlen strncmp strrchr strspn
 snprintf vsnprintf strtod write
 __assert_fail __divmodti4 __divti3 __modti3 __udivti3 __umodti3 __popcountdi2
 ceil exp exp2 floor fmod log log2 nearbyint pow rint round sqrt trunc ldexp __errno_location '
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm "$1" 2>/dev/null | awk 'NF == 3 && $2 ~ /[A-TV-Z]/ {print $3}' | sort -u >"$work/defined"
nm -u "$1" 2>/dev/null | awk '$1 == "U" {print $2}' | sort -u >"$work/needed"
bad=0
for symbol in $(comm -13 "$work/defined" "$work/needed"); do
  case $symbol in
    __asan_* | __ubsan_* | __sanitizer_* | __tsan_* | __gcov_* | __llvm_* | __sancov_*) continue ;;
    _GLOBAL_OFFSET_TABLE_ | __stack_chk_fail | __*_chk) continue ;;
  esac
  case $allowed in
    *[[:space:]]"$symbol"[[:space:]]*) ;;
    *) echo "liborrery-core needs $symbol" >&2; bad=1 ;;
  esac
done
exit $bad
