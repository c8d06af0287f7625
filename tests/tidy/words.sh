#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# words.sh SOURCE: no file names a place of one machine, postpones work, or ends without a newline;
# every folder of the house with code says what it is for.
set -eu
cd "$1"
bad=0
report() {
  if [ -n "$2" ]; then
    printf '%s:\n%s\n' "$1" "$2" >&2
    bad=1
  fi
}
files() {
  if [ -n "$(git ls-files 2>/dev/null | head -n 1)" ]; then
    git ls-files -- . ':!*.gz' ':!*.zst' ':!*.xz' ':!*.zip' ':!*.png' ':!tests/fuzz/corpus' \
      ':!tests/hostile' ':!LICENSE' ':!tests/tidy/words.sh'
  else
    find CMakeLists.txt core policies traces sim analysis scenarios tests -type f \
      -not -path 'tests/fuzz/corpus/*' \
      -not -path 'tests/hostile/*' -not -name '*.gz' -not -name words.sh
  fi | while read -r file; do
    [ ! -f "$file" ] || printf '%s\n' "$file"
  done
}
[ -n "$(files | head -n 50)" ] || report 'no list of files' "$1"
report 'names a place of one machine' \
  "$(files | xargs grep -InE '(^|[^A-Za-z0-9_.])/(work|home/[a-z]+)(/|$|[^A-Za-z0-9_])' || true)"
report 'postpones work' "$(files | xargs grep -InwE 'TODO|FIXME|XXX' || true)"
# grep counts a last line without its newline, wc does not
report 'ends without a newline' "$({ files | xargs grep -c '' /dev/null; echo; files | xargs wc -l /dev/null; } | awk '
  /^$/ { second = 1; next }
  !second { at = match($0, /:[0-9]+$/); lines[substr($0, 1, at - 1)] = substr($0, at + 1) }
  second && ($2 in lines) && lines[$2] != $1 { print $2 }')"
for folder in core policies traces sim analysis scenarios; do
  [ -f $folder/README.md ] || report 'no README.md' $folder
done
exit $bad
