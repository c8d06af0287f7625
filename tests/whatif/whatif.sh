#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A scenario of scenarios/whatif tells its story under kai, does not with variant `off`, and runs
# under static and kube. usage: whatif.sh ORRERY FOLDER
set -eu
orrery=$1
name=$(basename "$2")
scenario=$2/$name.yaml
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

expect() { # WANTED-EXIT... -- OPTION...
    wanted=
    while [ "$1" != -- ]; do
        wanted="$wanted $1"
        shift
    done
    shift
    code=0
    "$orrery" run "$scenario" "$@" --quiet --no-progress --force -o "$dir/run.db" >"$dir/out" 2>&1 || code=$?
    case "$wanted " in
    *" $code "*) ;;
    *)
        echo "$name $*: exit $code, wanted$wanted" >&2
        cat "$dir/out" >&2
        exit 1
        ;;
    esac
}

says() { # TEXT: the last run's output has it
    grep -q "$1" "$dir/out" || {
        echo "$name: no '$1' in:" >&2
        cat "$dir/out" >&2
        exit 1
    }
}

expect 0 -- --policy kai
expect 1 -- --variant off
says 'expect: .* is false'
for policy in static kube; do
    expect 0 1 -- --policy "$policy"
    if [ "$code" -eq 1 ]; then
        says 'expect: .* is false'
    fi
done
sed -n '/^variants:/,/^expect:/s/^  \([a-z-]*\):.*/\1/p' "$scenario" >"$dir/variants"
while read -r variant; do
    expect 0 1 -- --variant "$variant"
    if [ "$code" -eq 1 ]; then
        says 'expect: .* is false'
    fi
done <"$dir/variants"
