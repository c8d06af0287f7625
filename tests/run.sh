#!/bin/sh
# Installs what is missing, builds and runs the tests. The last line says `N passed, N failed`.
# usage: sh tests/run.sh [--all]
#   --all   also: address and undefined-behaviour sanitizers, clang, the same digests from gcc at -O3
#           and clang at -O0, and the README's first command on a clone
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
passed=0
failed=0
over=no
# However it ends: a closing line, and not 0 unless everything passed.
closing() {
    [ "$over" = yes ] || failed=$((failed + 1))
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ] || exit 1
}
trap closing EXIT
trap 'exit 1' HUP INT TERM

# say TEXT: where it is; somebody may be watching a log.
say() { echo "== $* ($(($(date +%s) - began)) s)"; }
began=$(date +%s)

# build PRESET: configure and build; a failure counts as one failed test.
build() {
    say "build $1"
    if ! { cmake --preset "$1" >"build/$1.log" 2>&1 && cmake --build --preset "$1" -j "$(nproc)" >>"build/$1.log" 2>&1; }; then
        tail -40 "build/$1.log"
        failed=$((failed + 1))
        return 1
    fi
}

# every NUMBER: of the lines of ctest that tell a result, one in so many.
every() {
    count=0
    while IFS= read -r line; do
        case $line in *" Test "*"#"*) count=$((count + 1)) ;; *) continue ;; esac
        [ $((count % $1)) != 0 ] || echo "   $count done"
    done
}

# tests PRESET [CTEST OPTIONS...]: run them and add up what ctest says.
tests() {
    preset=$1
    shift
    say "test $preset $*"
    log=build/$preset-ctest.log
    ctest --test-dir "build/$preset" --output-on-failure --timeout 600 -j "$(nproc)" "$@" 2>&1 </dev/null | tee "$log" | every 100
    grep -vE '^ +Start |Passed +[0-9.]+ sec$|^Test project|^Internal ctest|^$' "$log" || true
    summary=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests failed out of [0-9]+' "$log" | tail -1)
    if [ -z "$summary" ]; then
        failed=$((failed + 1))
        return 0
    fi
    bad=$(echo "$summary" | sed -E 's/.*passed, ([0-9]+) tests failed.*/\1/')
    all=$(echo "$summary" | sed -E 's/.*out of ([0-9]+).*/\1/')
    passed=$((passed + all - bad))
    failed=$((failed + bad))
}

# step NAME COMMAND...: one more test that is not ctest's.
step() {
    name=$1
    shift
    say "$name"
    if "$@" >"build/$name.log" 2>&1 </dev/null; then
        passed=$((passed + 1))
    else
        tail -40 "build/$name.log"
        failed=$((failed + 1))
    fi
}

# A tree of another owner is cloned all the same; without history its files are copied.
first_command_on_a_clone() {
    rm -rf build/clone
    printf '[safe]\n\tdirectory = *\n' >build/gitconfig
    GIT_CONFIG_GLOBAL=$root/build/gitconfig git clone -q "$root" build/clone ||
        { mkdir -p build/clone && tar -cf - --exclude=./build . | tar -xf - -C build/clone; } &&
        (cd build/clone && sh scenarios/first/run.sh out && test -s out/first.db && test -s out/first-allocation.svg)
}

sh .ci/install test
# The same words, order and room for temporary files wherever it runs. apt, above, wants its own: its
# user may not come into this folder.
mkdir -p build/tmp
LC_ALL=C TMPDIR=$root/build/tmp
export LC_ALL TMPDIR
build debug && tests debug
if [ "${1:-}" = --all ]; then
    # Under the sanitizers it is enough that every line runs: more seeds, worlds, rows or sizes of what other tests run
    # find nothing more there (_long, whole logs, trials of a statistical rule, studies of many runs, searches of large
    # worlds with each pruner on and off, goldens that take seconds). Style is looked at once, and so are numbers in
    # READMEs, drawn text, and programs that are not ours: gnuplot draws every figure, a policy in Python learns, a real
    # Slurm runs.
    build asan && tests asan -E "$(echo "^tidy\\.|_long$|^unit\\.test_analysis_plot$|^plugin\\.learn$|^kueue\\.objects_vectors$
        |^study\\.(tables|ci|totals|totals_others|slurm|gate|whatif)$|^generate\\.(mmc|md1)$|^random\\.(same_text|every_key)$
        |^metrics\\.(promises|easy|fifo|kai|elastic|warmup|shares|rates|patience|books|cut|notices)$
        |^golden\\.(kai_philly|kai_factory|kai_mixed|philly_copies)$|^prune\\.(everything|mixed)$
        |^peers\\.(fgd\\.run\\..*_4[34]|counts\\.(600|1000)_nodes_of_one|counts\\.2490.*)$" | tr -d ' \n')"
    # Another compiler may order and round otherwise, which shows in numbers and decisions: the quick tests of every
    # room, and whatever compares whole runs with published or stored ones. The rest is text, memory and undefined
    # behaviour of the same sources, which both presets above looked at.
    build clang && tests clang -L quick -E '^tidy\.' && tests clang -L full -R '^(golden|case|peers|random|unit)\.' -E '_long$|test_analysis_'
    # What users build is gcc at -O3 across files: the clone's program. With clang at -O0 these are the levels that are
    # left: golden tests ran on gcc at -Og, at -O1 under the sanitizers, and on clang at -O3.
    step readme first_command_on_a_clone
    step digests env BUILDS="$root/build/clone/build/user/orrery clang-O0" sh tests/golden/digests.sh
    rm -rf build/clone
fi
over=yes
