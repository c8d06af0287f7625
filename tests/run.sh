#!/bin/sh
# Installs what is missing, builds and runs the tests. The last line says `N passed, N failed`.
# usage: sh tests/run.sh [--all]
#   --all   also: address and undefined-behaviour sanitizers, clang, the same digests from gcc and
#           clang at -O0 and -O3, and the README's first command on a clone
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
sh .ci/install test
passed=0
failed=0

# build PRESET: configure and build; a failure counts as one failed test.
build() {
    echo "== build $1"
    if ! { cmake --preset "$1" >"build/$1.log" 2>&1 && cmake --build --preset "$1" -j "$(nproc)" >>"build/$1.log" 2>&1; }; then
        tail -40 "build/$1.log"
        failed=$((failed + 1))
        return 1
    fi
}

# tests PRESET [CTEST OPTIONS...]: run them and add up what ctest says.
tests() {
    preset=$1
    shift
    echo "== test $preset $*"
    log=build/$preset-ctest.log
    ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)" "$@" >"$log" 2>&1 || true
    grep -vE '^ +Start |Passed +[0-9.]+ sec$|^Test project|^$' "$log" || true
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
    echo "== $name"
    if "$@" >"build/$name.log" 2>&1; then
        passed=$((passed + 1))
    else
        tail -40 "build/$name.log"
        failed=$((failed + 1))
    fi
}

first_command_on_a_clone() {
    rm -rf build/clone
    git clone -q "$root" build/clone
    (cd build/clone && sh scenarios/first/run.sh out && test -s out/first.db && test -s out/first-allocation.svg)
    rm -rf build/clone
}

mkdir -p build
build debug && tests debug
if [ "${1:-}" = --all ]; then
    build asan && tests asan
    build clang && tests clang -L quick
    step digests sh tests/golden/digests.sh
    step readme first_command_on_a_clone
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
