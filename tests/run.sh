#!/bin/sh
# Installs what is missing, builds and runs the tests. The last line says `N passed, N failed`.
# usage: sh tests/run.sh [--all]
#   --all   also: clang with address and undefined-behaviour sanitizers, the same digests from gcc and
#           clang at -O3, and the README's first command on a clone
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
    say "test $preset $(echo "$*" | cut -c 1-60)"
    log=build/$preset-ctest.log
    # One more than processors: some tests wait for a signal, a disk or a child.
    ctest --test-dir "build/$preset" --output-on-failure --timeout 600 -j "$(($(nproc) + 1))" "$@" 2>&1 </dev/null | tee "$log" | every 100
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
    # The other compiler and the sanitizers in one build: the quick tests of every room, what attacks the program, random
    # scenarios, and each verb that runs a scenario several times. The rest of `full` are more seeds, worlds, rows or sizes
    # of the same lines, numbers in READMEs, drawn text, and programs that are not ours.
    build asan && tests asan -L quick -E '^tidy\.' &&
        tests asan -L full -R "$(echo '^(random|robust|hostile|exec|prop|kinds|services|timeline|unit)\.|^model\.random
            |^study\.(blame|bundle|capacity|faults|forecast|sweep)$' | tr -d ' \n')" \
            -E "$(echo '_long$|^unit\.test_analysis_plot$|^random\.(same_text|every_key|seeds_41|seeds_81|seeds_121|pools_in_vain)$
                |^random\.(second_cycle_sees_between|rounds_of_another_shard|no_pods_at_the_limit)$
                |^hostile\.(interrupt_studies|disk_full_large)$|^robust\.endless$' | tr -d ' \n')"
    # What users build is gcc at -O3 across files: the clone's program. Golden tests ran on gcc at -O1, the quick ones on
    # clang at -O1; clang at -O3 is what is left.
    step readme first_command_on_a_clone
    step digests env BUILDS="$root/build/clone/build/user/orrery clang-O3" sh tests/golden/digests.sh
    rm -rf build/clone
fi
over=yes
