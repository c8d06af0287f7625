#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs one case of cases/ in a folder of its own.
#
#   run.sh ORRERY CASE.sh
#
# Exit: 0 passed, 1 failed, 77 cannot be tested here.
set -eu

orrery=$(realpath "$1") work=${TMPDIR:-/tmp} case=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/../scratch.sh"

# expect CODE COMMAND...: runs it into the files out and err, and for three minutes at most.
expect() {
    wanted=$1 code=0
    shift
    timeout 180 "$@" >out 2>err </dev/null || code=$?
    [ "$code" -eq "$wanted" ] || fail "exit code $code, expected $wanted: $*"
}
# says TEXT: err has it. prints TEXT: out has it.
says() { grep -F -q -e "$1" err || fail "stderr does not say: $1"; }
prints() { grep -F -q -e "$1" out || fail "stdout does not say: $1"; }
# is SQL ANSWER: what a query on r.db answers.
is() {
    answer=$(sqlite3 r.db "$1")
    [ "$answer" = "$2" ] || fail "$1: $answer, expected $2"
}
# clean: no command left a temporary file or a note of a bug here.
clean() {
    for file in *.tmp.* *.new *.bug.yaml orrery-bug-*; do
        [ ! -e "$file" ] || fail "$file was left behind"
    done
}
# sound SCENARIO: it runs into r.db with its books checked, the audit finds nothing, and the file
# loads again.
sound() {
    expect 0 "$orrery" run "$1" --check-books --force -q -o r.db
    expect 0 "$orrery" audit r.db
    sqlite3 -bail -readonly r.db ".read $here/../metrics/recompute.sql" >out
    tail -n 1 out | grep -q ' compared, 0 differ$' || fail 'metrics made again in SQL differ'
    expect 0 "$orrery" show r.db --resolved
    clean
}

. "$case"
