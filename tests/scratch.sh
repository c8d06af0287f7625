# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by tests that need a folder of their own: goes there ($dir) and removes it however they end.
# It lies below $work where that is set. `fail TEXT` ends a test, and shows the files out and err.
mkdir -p "${work:=${TMPDIR:-/tmp}}"
dir=$(mktemp -d "$work/$(basename "$0" .sh).XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"

fail() {
    printf '%s\n' "$*"
    for file in out err; do
        [ ! -s "$file" ] || { printf -- '--- %s\n' "$file"; head -n 30 "$file"; }
    done
    exit 1
}

# exits CODE COMMAND...: what a command of "$orrery" answers is in the files out and err.
exits() {
    wanted=$1 code=0
    shift
    "$orrery" "$@" >out 2>err || code=$?
    [ "$code" = "$wanted" ] || fail "exit $code, not $wanted: orrery $*"
}

# A function of awk: the next of evenly spread numbers from 0 to 1, the same in every awk, as rand() is not
# (the minimal standard generator of Park and Miller, 1988). `state` begins it: not 0, below 2147483647.
# shellcheck disable=SC2034 # of the scripts that source this
draw_awk='function draw() { state = state * 16807 % 2147483647; return state / 2147483647 }'

# world NAME TRACE POLICY: NAME.yaml has the lines on standard input and a workload of one trace under a policy.
world() {
    { cat; printf 'workload: [{name: t, trace: %s}]\npolicy: %s\n' "$2" "$3"; } >"$1.yaml"
}

# draw_jobs SEED COUNT COLUMNS AWK: a trace with a row for each i from 0 on; AWK prints it by x, drawn anew from 0 to 32767,
# and by what it keeps itself, such as the time t.
draw_jobs() {
    awk -v seed="$1" -v count="$2" -v columns="$3" 'BEGIN {
        print columns
        for (i = 0; i < count; i++) {
            seed = (seed * 1103515245 + 12345) % 2147483648; x = int(seed / 65536)
            '"$4"'
        }
    }'
}
