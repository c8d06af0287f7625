# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by the programs that hold what random scenarios found, as small as it gets: SCRIPT ORRERY CASE. Each is judged as
# they are.
orrery=$(realpath "$1") limit=60
. "$here/../scratch.sh"
. "$here/judge.sh"

# right FOLDER: what s.yaml and t.csv there come to is right in every respect.
right() {
    : >>"$1/options"
    said=$(judge "$1")
    [ "$said" = right ] || fail "$said"
    rm -f "$1"/*.db "$1"/b.tar.zst "$1"/r.html
    "$orrery" run "$1/s.yaml" -o r.db -q --allow-loss --force
}
has() { [ "$(sqlite3 r.db "SELECT $1")" = 1 ] || fail "not so: $1"; }
