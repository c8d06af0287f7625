#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# readmes.sh SOURCE: the functions and sources that READMEs name are there. Looked at are orr_ names, names of .c and
# .h files, and in indented blocks the words that lines begin with, where these are names with an underscore.
# The log of what was tried for speed has one short line for each idea.
set -eu
cd "$1"
folders='core policies traces sim analysis'
known=$(mktemp) named=$(mktemp)
trap 'rm -f "$known" "$named"' EXIT
{ find $folders tests \( -name '*.[ch]' -o -name CMakeLists.txt \) -exec cat {} + | grep -oE '[A-Za-z_][A-Za-z0-9_]*'
  find $folders tests -name '*.[ch]' | sed 's|.*/||'; } | sort -u >"$known"
bad=0
for readme in README.md $(find $folders -name README.md); do
    { grep -oE '\borr_[a-z0-9_]*[a-z0-9]\b' "$readme" || true
      sed -n 's/^    *\([a-z][a-z0-9]*_[a-z0-9_]*[a-z0-9]\)\( .*\)\{0,1\}$/\1/p' "$readme"
      grep -oE '\b[a-z][a-z0-9_]*_[a-z0-9_]*\.[ch]\b' "$readme" || true; } | sort -u >"$named"
    missing=$(comm -23 "$named" "$known")
    [ -z "$missing" ] || { printf '%s names what is not there:\n%s\n' "$readme" "$missing" >&2; bad=1; }
done
long=$(awk '/^- / && (!/^- (kept|not|seen): / || length > 200) { print FILENAME ":" FNR }' tests/bench/tried.md)
[ -z "$long" ] || { printf 'a line begins with kept, not or seen and has at most 200 characters:\n%s\n' "$long" >&2; bad=1; }
exit $bad
