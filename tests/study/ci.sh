#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The examples of continuous integration in analysis/README.md, line by line in a fresh clone of a small
# repository: a change that does nothing passes, one that takes nodes away is red, a blessing makes it
# green again. Lines that fetch and build the program are left out: it is there.
#
#   ci.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"
command -v git >/dev/null || exit 77
git() {
    command git -c user.name=n -c user.email=n@example.org -c init.defaultBranch=main "$@"
}

# steps WHICH: the commands of the GitHub (1) or GitLab (2) example that are about results.
steps() {
    awk -v which="$1" '
        /^```yaml$/ {block = 1; next}
        /^```$/ {block = 0}
        block && /runs-on:/ {kind = 1}
        block && /image:/ {kind = 2}
        !block {kind = 0}
        kind == which && /^ *- run: / {sub(/^ *- run: /, ""); print}
        kind == which && /^    - / {if (which == 2) {sub(/^ *- /, ""); print}}' "$source/analysis/README.md" |
        grep -v -e '\.ci/install' -e 'git clone' -e 'apt-get' >"$2"
    [ "$(grep -c 'orrery ' "$2")" = 2 ] || fail "the README has other lines than a run and a gate"
}
steps 1 "$dir/github"
steps 2 "$dir/gitlab"

mkdir -p first/data
cp "$source/scenarios/whatif/lending/lending.csv" first/data/jobs.csv
sed -e 's/lending.csv/data\/jobs.csv/' -e '/^expect:/,$d' "$source/scenarios/whatif/lending/lending.yaml" >first/scenario.yaml
cd first
git init -q .
"$orrery" run scenario.yaml -o baseline.db -q --no-progress
"$orrery" gate baseline.db --propose --no-progress >gate.yaml
git add -A
git commit -qm "Gate the quotas"
cd ..
# clone NAME: as a runner sees it, elsewhere, and the place where the baseline was made is gone.
clone() {
    git clone -q "$dir/origin" "$1"
    mkdir -p "$1/orrery/build"
    ln -s "$orrery" "$1/orrery/build/orrery"
}
mv first origin
# expect CODE STEPS FOLDER: every step runs, as far as that goes.
expect() {
    code=0
    (cd "$3" && GITHUB_STEP_SUMMARY=summary.md sh -e "$2") >out 2>&1 || code=$?
    [ "$code" = "$1" ] || fail "exit $code, expected $1"
}
for ci in github gitlab; do
    clone "same-$ci"
    expect 0 "$dir/$ci" "same-$ci"
    clone "less-$ci"
    sed -i 's/nodes: [0-9]*/nodes: 3/' "less-$ci/scenario.yaml"
    cmp -s "less-$ci/scenario.yaml" origin/scenario.yaml && fail "the change changes nothing"
    expect 1 "$dir/$ci" "less-$ci"
    grep -q '<failure type="regressed" message=' "less-$ci/gate.xml" || fail "no failure in the JUnit file"
    grep -q 'errors="0"' "less-$ci/gate.xml" || cat "less-$ci/gate.xml"
done
grep -q '^### orrery gate: pass$' same-github/summary.md || fail "no summary"
(cd less-github && orrery/build/orrery gate new.db --baseline baseline.db --bless && rm new.db)
expect 0 "$dir/github" less-github
printf 'the documented jobs do what they say\n'
