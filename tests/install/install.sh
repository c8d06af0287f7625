#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What `cmake --install` puts into an empty folder works from there: the first scenario, node types,
# manual pages, completion, and the core for a program that finds it by pkg-config or CMake.
#
#   install.sh BUILD_DIR WORK_DIR CASE
#
# Each function case_* is one test.
set -eu
build=$1 work=$2
. "$(dirname "$0")/../scratch.sh"

prefix=$PWD/prefix
cmake --install "$build" --prefix "$prefix" >log 2>&1 || fail "cmake --install: $(tail -3 log)"
PATH=$prefix/bin:$PATH
share=$prefix/share/orrery

case_program() {
    orrery run "$share/scenarios/whatif/reclaim/reclaim.yaml" -q --no-progress -o r.db 2>err || fail "an installed scenario does not run: $(cat err)"
    orrery check "$share/scenarios/first/first.yaml" >out 2>err || fail "the first scenario: $(cat err)"
    # Copied elsewhere, what ships with the program is found; a trace beside it is not, and the error says what to do.
    mkdir copied
    cp "$share/scenarios/first/first.yaml" "$share/scenarios/mixed/mixed.yaml" "$share/scenarios/whatif/lending/lending.yaml" copied
    for scenario in first mixed; do
        orrery check copied/$scenario.yaml >out 2>err || fail "a copy of $scenario: $(cat err)"
    done
    code=0
    orrery check copied/lending.yaml >out 2>err || code=$?
    { [ "$code" = 66 ] && grep -q '^orrery: copied/lending.yaml:[0-9:]*: copied/lending.csv: No such file or directory .*--set workload.day.trace=FILE' err; } ||
        fail "exit $code: a copy without its trace: $(cat err)"
    orrery check copied/lending.yaml --set "workload.day.trace=$share/scenarios/whatif/lending/lending.csv" >out 2>err || fail "what the error says: $(cat err)"
    printf 'job,submit_s,run_s,gpus\na,0,60,8\n' >jobs.csv
    cat >typed.yaml <<'YAML'
apiVersion: orrery/v1alpha1
kind: Scenario
cluster: {pools: {a: {nodes: 1, type: hgx-h100}}}
workload: [{name: a, trace: jobs.csv}]
YAML
    orrery run typed.yaml -q --no-progress -o t.db 2>err || fail "a node type is not found from elsewhere: $(cat err)"

    [ "$(orrery import --maps | wc -l)" -ge 10 ] || fail "the maps of import are not installed"
}

# An image made from the Containerfile has the libraries that the program asks for, by their packages' names.
case_containerfile() {
    grep -q '^VERSION_CODENAME=bookworm$' /etc/os-release || exit 77
    file=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")/sim/study/Containerfile
    named=$(sed -n 's/^RUN apt-get .* install \(.*\) && rm .*/\1/p' "$file")
    [ -n "$named" ] || fail "no packages in $file"
    readelf -d "$prefix/bin/orrery" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' >libraries
    [ "$(wc -l <libraries)" -ge 7 ] || fail "libraries: $(cat libraries)"
    while read -r library; do
        found=$(ldd "$prefix/bin/orrery" | sed -n "s|^[[:space:]]*$library => \([^ ]*\) .*|\1|p")
        package=$(dpkg-query -S "$(realpath "$found")" 2>/dev/null || dpkg-query -S "$found")
        package=${package%%:*}
        case " $named libc6 libgcc-s1 " in
        *" $package "*) ;;
        *) fail "the Containerfile lacks $package, of $library" ;;
        esac
    done <libraries
}

# A page for every verb, an entry for each option, without anything that groff complains about.
case_pages() {
    for verb in $(orrery --help | sed -nE 's/^  ([a-z]+)  +.*/\1/p'); do
        page=$prefix/share/man/man1/orrery-$verb.1
        [ -s "$page" ] || fail "no manual page for $verb"
        orrery "$verb" --help | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -e '--[a-z-]+' | grep -vE '^--(help|usage|version)$' | while read -r option; do
            grep '^\.B ' "$page" | grep -qF -e "$(echo "$option" | sed 's/-/\\-/g')" || fail "orrery-$verb.1 has no entry for $option"
        done || exit 1
        ! command -v groff >/dev/null || [ -z "$(groff -man -Tascii -ww "$page" 2>&1 >/dev/null)" ] || fail "orrery-$verb.1: groff complains"
    done
}

# Completion, asked as the shells ask.
case_completion() {
    completed() { # completed SHELL SCRIPT WANTED: the script prints the word
        command -v "$1" >/dev/null || return 0
        "$1" -c "$2" 2>err | grep -qx -e "$3" || fail "$1 does not complete $3: $(cat err)"
    }
    for row in 1:run:'orrery ru' 2:--seed:'orrery run --se' 3:kai:'orrery run --policy k' 2:fish:'orrery completion f' 2:filter:'orrery trace fi'; do
        words=${row##*:} rest=${row%:*}
        completed bash "source $prefix/share/bash-completion/completions/orrery; COMP_WORDS=($words); COMP_CWORD=${rest%%:*}; _orrery; printf '%s\n' \"\${COMPREPLY[@]}\"" "${rest#*:}"
        completed fish "set fish_complete_path $prefix/share/fish/vendor_completions.d; complete -C '$words' | string split -f1 \t" "${rest#*:}"
    done
    if command -v zsh >/dev/null; then
        zsh -fc "autoload -Uz compinit; fpath=($prefix/share/zsh/site-functions \$fpath); compinit -u -d $PWD/zdump; [[ \$_comps[orrery] = _orrery ]]" 2>err || fail "zsh does not know _orrery: $(cat err)"
        zsh -n "$prefix/share/zsh/site-functions/_orrery" || fail "zsh: syntax"
    fi
    orrery completion bash | cmp -s - "$prefix/share/bash-completion/completions/orrery" || fail "completion bash"
}

# The core, linked by somebody else: one scheduler as C and as C++, shared and static.
case_core() {
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name orrery-core.pc)")
    libdir=$(pkg-config --variable=libdir "$PKG_CONFIG_PATH/orrery-core.pc")
    LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PKG_CONFIG_PATH LD_LIBRARY_PATH
    [ -L "$libdir/liborrery-core.so" ] && [ -s "$libdir/liborrery-core.so.0.1" ] || fail "no versioned shared library: $(ls "$libdir")"
    cp "$share/examples/scheduler.c" core.c
    printf '0 s: job 0 starts\n0 s: job 2 starts\n0 s: job 1 waits: fewer GPUs are free than it asks\n2 s: job 1 starts\n' >wanted
    # shellcheck disable=SC2086,SC2046
    for compile in "${CC:-cc} -std=c11" "${CXX:-c++} -std=c++20 -Wall -Werror -x c++"; do
        $compile ${CORE_FLAGS:-} core.c -x none $(pkg-config --cflags --libs orrery-core) -o core 2>err || fail "$compile: $(cat err)"
        ./core >out 2>err && cmp -s out wanted || fail "$compile: the scheduler: $(cat out err)"
        [ "$(ldd core | grep -c 'liborrery-core.so.0.1 ')" = 1 ] || fail "not linked to the shared library: $(ldd core)"
        $compile ${CORE_FLAGS:-} core.c -x none $(pkg-config --cflags orrery-core) "$libdir/liborrery-core.a" -lm -o static 2>err && ./static | cmp -s - wanted || fail "$compile, static: $(cat err)"
    done
    # Every header by itself, as C++.
    for header in "$prefix"/include/orrery/*/*.h; do
        printf '#include <%s>\n' "${header#"$prefix/include/"}" >one.cc
        ${CXX:-c++} -std=c++17 -fsyntax-only -I "$prefix/include" one.cc 2>err || fail "$header as C++: $(cat err)"
    done
    cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(orrery-core 0.1 REQUIRED)
add_executable(user core.c)
target_link_libraries(user PRIVATE orrery::orrery-core)
CMAKE
    cmake -S . -B user -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="${CORE_FLAGS:-}" >log 2>&1 && cmake --build user >>log 2>&1 && user/user || fail "find_package: $(tail -5 log)"
}

"case_$3"
