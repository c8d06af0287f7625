#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Bad surroundings, and bad input that is not text: devices, full disks, signals, packed and damaged files. Whatever is a
# file, a command and what it must say is a case (*.case) beside this file.
#
#   hostile.sh ORRERY WORK_DIR PHILLY_TRACE CASE
#
# Each function case_* is one test. Exit: 0 passed, 1 failed, 77 cannot be tested here.
set -eu

orrery=$1 work=$2 philly=$3 name=$4
. "$(dirname "$0")/../scratch.sh"

# expect CODE COMMAND...: runs it into the files out and err.
expect() {
    wanted=$1 code=0
    shift
    "$@" >out 2>err </dev/null || code=$?
    [ "$code" -eq "$wanted" ] || fail "exit code $code, expected $wanted: $*"
}

# says TEXT: err has it. says_not TEXT: it has not.
says() { grep -F -q -e "$1" err || fail "stderr does not say: $1"; }
says_not() { ! grep -F -q -e "$1" err || fail "stderr says: $1"; }
# has NAME VALUE: the JSON document in out says so.
has() { grep -q "^  \"$1\": $2,\$" out || fail "JSON does not say $1: $2"; }
gone() { for file in "$@"; do [ ! -e "$file" ] || fail "$file was left behind"; done; }

# rows N: a good trace of N rows.
rows() {
    awk -v n="$1" 'BEGIN { print "job,submit_s,run_s,gpus"
        for (i = 1; i <= n; i++) print "j" i "," i * 10 "," 100 + i % 7 "," 1 + i % 8 }'
}
replay() {
    trace=$1
    shift
    "$orrery" run --trace "$trace" --cluster 4x8 --json --no-progress --force -o run.db "$@"
}

# ---- accepted ----

case_accept_scaled_copies() { # copies of stretched arrivals do not overlap
    rows 9000 >t.csv
    expect 0 replay t.csv --copies 2 --set workload.trace.scale.arrivals=0.5
    has jobs 18000
    "$orrery" export run.db jobs | awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
        { at = $(c["submit_s"]) + 0; if (NR > 2 && at < last) { print $1 " comes before " name; exit 1 }; last = at; name = $1 }' ||
        fail 'jobs are out of order'
}

case_accept_no_line_end() { # a map is proposed from all rows of a short file
    printf 'job,submit_time,duration,gpus\na,2026-03-01 10:00:00,60,4' >open.csv
    expect 0 "$orrery" import open.csv --map auto
    grep -q 'from the header and the first 1 row' out || fail 'the last row is not looked at'
}

# ---- rejected rows: counted, shown with their line; the run goes on ----

case_reject_nul() { # of shares: rejected_share.case
    { rows 200; printf 'x,2000,1\0000,1\n'; } >bad.csv
    expect 0 replay bad.csv
    says '1 of 201 rows rejected'
    says 'bad.csv:202: the row has a NUL byte'
    has jobs 200
    has rejected 1
}

# ---- refused: a located error, an exit code, no results ----

refused() { # CODE TRACE MESSAGE
    rm -f run.db
    expect "$1" replay "$2"
    says "orrery: $3"
    gone run.db run.db.tmp.*
}
case_refuse_truncated() { # cut anywhere: header, data, check sum
    rows 2000 | gzip -c >whole.csv.gz
    bytes=$(wc -c <whole.csv.gz)
    for keep in 15 200 $((bytes / 2)) $((bytes - 8)) $((bytes - 1)); do
        dd if=whole.csv.gz of=cut.csv.gz bs=1 count="$keep" 2>/dev/null
        refused 65 cut.csv.gz 'cut.csv.gz:'
    done
}
case_refuse_damaged() {
    rows 2000 | gzip -c >damaged.csv.gz
    printf '\377\377\377\377' | dd of=damaged.csv.gz bs=1 seek=1000 conv=notrunc 2>/dev/null
    refused 65 damaged.csv.gz 'damaged.csv.gz'
}

# ---- output that cannot be written ----

case_output_folder_closed() {
    [ "$(id -u)" -ne 0 ] || exit 77 # root writes anywhere
    rows 20 >t.csv
    mkdir closed && chmod 555 closed
    expect 73 "$orrery" run --trace t.csv --cluster 4x8 -o closed/run.db
    says 'closed/run.db: cannot create: Permission denied'
    chmod 755 closed
}

# limited BLOCKS COMMAND...: no file may grow above BLOCKS * 512 bytes, as on a disk that is full
# then. Messages go through a pipe, which has no size.
limited() {
    blocks=$1
    shift
    { (ulimit -f "$blocks" && exec "$@") 2>&1 && echo 'code 0' || echo "code $?"; } | cat >log
    code=$(sed -n 's/^code //p' log)
}
sweep() { # STEP TRACE CLUSTER: every size from nothing to the whole file
    "$orrery" run --trace "$2" --cluster "$3" --quiet --no-progress -o whole.db
    size=$(($(wc -c <whole.db) / 512))
    blocks=0 count=0
    while [ "$blocks" -lt "$size" ]; do
        limited "$blocks" "$orrery" run --trace "$2" --cluster "$3" --quiet --no-progress -o run.db
        case $code in
        73 | 74) ;;
        *) cat log; fail "exit code $code with room for $blocks of $size blocks" ;;
        esac
        grep -q '^orrery: run.db: ' log || { cat log; fail "no message with room for $blocks blocks"; }
        gone run.db run.db.tmp.* run.db-journal
        blocks=$((blocks + $1)) count=$((count + 1))
    done
    limited "$size" "$orrery" run --trace "$2" --cluster "$3" --quiet --no-progress -o run.db
    [ "$code" -eq 0 ] || { cat log; fail "exit code $code with room for all $size blocks"; }
    printf '%s write points fail cleanly\n' "$count"
}
case_disk_full_small() { # every page of a small file; a page is 32 blocks
    rows 300 >t.csv
    sweep 32 t.csv 4x8
}
case_disk_full_large() { # pages that are written before the end too
    sweep 2500 "$philly" 112x8
}
case_disk_full_force() { # what was there stays
    rows 300 >t.csv
    printf 'mine\n' >run.db
    limited 100 "$orrery" run --trace t.csv --cluster 4x8 --quiet --no-progress --force -o run.db
    [ "$code" -eq 74 ] || fail "exit code $code"
    [ "$(cat run.db)" = mine ] || fail 'the existing file was changed'
    gone run.db.tmp.*
}
case_disk_full_report() { # a report is whole or what was there before
    rows 300 >t.csv
    expect 0 replay t.csv
    printf 'kind: Gate\nmode: fixed\nrules: {wait: {metric: wait_mean_s, margin: 5%%}}\n' >gate.yaml
    printf '### orrery gate: mine\n' >old.md
    for file in new.md old.md; do
        limited 0 "$orrery" gate run.db --baseline run.db --spec gate.yaml --summary $file
        [ "$code" -eq 74 ] || fail "exit code $code"
    done
    gone new.md ./*.new ./*.tmp.*
    [ "$(cat old.md)" = '### orrery gate: mine' ] || fail 'the existing report was changed'
}
# gnuplot does not notice: a figure is whole or not there, whatever fits.
case_disk_full_figures() {
    command -v gnuplot >/dev/null 2>&1 || exit 77
    rows 300 >t.csv
    expect 0 replay t.csv
    expect 0 "$orrery" plot run.db depth
    size=$(($(wc -c <run-depth.svg) / 512))
    mv run-depth.svg whole.svg
    for blocks in 1 $((size / 3)) $((size / 2)) $((size - 1)) $((size + 200)); do
        limited "$blocks" "$orrery" plot run.db depth
        case $code in
        0) cmp run-depth.svg whole.svg || fail "another figure with room for $blocks blocks" ;;
        74) [ "$blocks" -le "$size" ] || fail "room for $blocks blocks is not enough for $size" ;;
        *) fail "exit code $code with room for $blocks blocks" ;;
        esac
        [ "$code" = 0 ] || gone run-depth.svg
        rm -f run-depth.svg
        [ -z "$(ls -A | grep orrery-plot || true)" ] || fail 'a folder was left behind'
    done
}
case_stdout_full() {
    [ -w /dev/full ] || exit 77
    rows 20 >t.csv
    expect 0 replay t.csv
    for command in 'export run.db jobs' 'export run.db jobs --format jsonl' 'export run.db jobs --format swf' \
        policies 'policies fifo' --help --version 'run --help' 'show --version' 'explain --usage' 'diff --help' \
        doctor 'export run.db jobs --json' 'check --trace t.csv --cluster 4x8 --json' \
        'run --trace t.csv --cluster 4x8 --no-progress --force -o run.db --json' \
        'run --trace t.csv --cluster 4x8 --no-progress --force -o run.db'; do
        code=0
        # shellcheck disable=SC2086 # words on purpose
        "$orrery" $command >/dev/full 2>err || code=$?
        [ "$code" -eq 74 ] || fail "exit code $code, expected 74: $command"
        says 'cannot write'
    done
    for table in jobs perfetto openmetrics; do # the cause, not what the last call before the end came upon
        expect 74 export_to_full "$table"
        says 'cannot write: No space left on device'
    done
    # that an answer is no (1) is nothing to who cannot read it; why a verb failed is
    printf 'cluster: {pools: {a: {nodes: 4, gpus: 8}}}\nworkload: [{name: t, trace: t.csv}]\n' >s.yaml
    sed 's/nodes: 4/nodes: 5/' s.yaml >more.yaml
    code=0
    "$orrery" diff s.yaml more.yaml >/dev/full 2>err || code=$?
    [ "$code" -eq 74 ] || fail "exit code $code of diff, expected 74"
    code=0
    "$orrery" diff s.yaml nowhere.yaml >/dev/full 2>err || code=$?
    [ "$code" -eq 66 ] || fail "exit code $code of a diff that fails, expected 66"
}
# Nothing that is printed goes into a file that got the number of a closed stream.
case_streams_closed() {
    rows 200 >t.csv
    printf 'bad,2000,x,1\n' >>t.csv
    expect 0 "$orrery" run --trace t.csv --cluster 4x8 -o whole.db
    "$orrery" run --trace t.csv --cluster 4x8 --digest-every 1 -q -o run.db 2>&- || fail "exit code $? without stderr"
    "$orrery" export whole.db jobs >whole.csv
    "$orrery" export run.db jobs | cmp - whole.csv || fail 'other results without stderr'
    mv run.db digests.db
    expect 0 "$orrery" import t.csv -o jobs.csv
    for streams in '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
        code=0
        eval "'$orrery' import t.csv -o again.csv $streams" || code=$?
        case $streams in
        *' >&-'* | '>&-'*) [ "$code" = 74 ] || fail "exit code $code with $streams" ;;
        *) [ "$code" = 0 ] || fail "exit code $code with $streams" ;;
        esac
        cmp jobs.csv again.csv || fail "another file with $streams"
        rm again.csv
        code=0
        eval "'$orrery' export run.db jobs $streams" || code=$?
        [ "$code" != 0 ] || fail "no run.db, and exit code 0 with $streams"
    done
}
export_to_full() { "$orrery" export run.db "$1" >/dev/full; }
# Pages and metrics are UTF-8, whatever bytes names have; names are no markup.
case_names_in_pages() {
    command -v iconv >/dev/null || exit 77
    printf 'job,submit_s,run_s,gpus,queue\n"<script>a</script>",0,9,1,"q\377<img>"\nb,0,9,1,"\357\277\277"\n' >t.csv
    expect 0 "$orrery" run --trace t.csv --cluster 1x1 -o run.db
    expect 0 "$orrery" report run.db -o page.html
    expect 0 "$orrery" export run.db openmetrics -o metrics.txt
    for file in page.html metrics.txt; do
        iconv -f UTF-8 -t UTF-8 "$file" >/dev/null || fail "$file is no UTF-8"
    done
    grep -q '<script>a\|<img>' page.html && fail 'a name is markup'
    grep -q "$(printf 'q\357\277\275&lt;img&gt;')" page.html || fail 'no such queue'
    grep -q "$(printf '"q\357\277\275<img>"')" metrics.txt || fail 'no such queue in metrics'
}
# Nothing is replaced that nobody meant, and nothing is left of what failed.
case_export_keeps_what_is_there() {
    rows 20 >t.csv
    expect 0 replay t.csv
    echo mine >jobs.csv
    expect 73 "$orrery" export run.db jobs -o jobs.csv
    says 'jobs.csv: exists already; --force overwrites it, -o names another'
    [ "$(cat jobs.csv)" = mine ] || fail 'it was replaced'
    expect 0 "$orrery" export run.db jobs -o jobs.csv --force
    "$orrery" export run.db jobs | cmp - jobs.csv || fail 'it was not replaced'
    [ -z "$(find . -name 'jobs.csv.*')" ] || fail "left behind: $(ls)"
}
# A device would be replaced by a file of its name, by those who may.
case_output_is_no_file() {
    rows 20 >t.csv
    expect 0 replay t.csv
    mkfifo pipe
    mkdir folder
    for command in 'run --trace t.csv --cluster 4x8 --force' 'report run.db' 'bundle run.db' \
        'calibrate --trace t.csv --cluster 4x8 --force'; do
        # shellcheck disable=SC2086 # words on purpose
        expect 73 "$orrery" $command -o pipe
        says 'pipe: is a device or pipe, not a file'
        # shellcheck disable=SC2086
        expect 73 "$orrery" $command -o folder
        says 'folder: is a folder, not a file'
        [ -p pipe ] || fail "$command replaced the pipe"
    done
    [ -z "$(ls -A folder)" ] || fail 'something was written into the folder'
    ln -s /proc/self/fd/1 own # as /dev/stdout, which is a file here
    expect 73 "$orrery" report run.db -o own
    says 'own: is a link to an open file, not a file'
    [ -h own ] || fail 'the link was replaced'
}
case_folders_are_made() {
    rows 20 >t.csv
    expect 0 replay t.csv
    printf 'cluster: {pools: {a: {nodes: 4, gpus: 8}}}\nworkload: [{name: t, trace: t.csv}]\n' >s.yaml
    expect 0 "$orrery" whatif s.yaml --set cluster.pools.a.nodes=5 --keep kept
    expect 0 "$orrery" compare kept/*.db --replicas 2 --keep again
    [ "$(ls kept again | grep -c '[.]db$')" = 6 ] || fail 'results are missing'
    expect 73 "$orrery" whatif s.yaml --set cluster.pools.a.nodes=5 --keep no/such
    says 'no/such: cannot make this folder: No such file or directory'
}
# ---- a bug ----

case_bug_leaves_a_file() { # an assertion aborts; here somebody else does, while the trace is read
    mkfifo "it's.csv"
    "$orrery" run --trace "it's.csv" --cluster 4x8 --no-progress -o run.db >out 2>err </dev/null &
    pid=$!
    exec 3>"it's.csv" # waits until it reads
    kill -ABRT "$pid"
    code=0
    wait "$pid" || code=$?
    exec 3>&-
    [ "$code" = 70 ] || fail "exit code $code, expected 70"
    says "what to type to see it again is in orrery-bug-$pid.txt"
    grep -q "^cd .*$(basename "$PWD")\$" "orrery-bug-$pid.txt" || fail 'it does not say where'
    grep -F -q -e "run --trace 'it'\\''s.csv' --cluster 4x8" "orrery-bug-$pid.txt" || fail 'it does not say what'
    gone run.db
}

# ---- Ctrl-C ----

# During the simulation: the digest lines fill the pipe, so that the run cannot end before its
# signal came, however slow or fast this machine is.
interrupted() { # SIGNALS RUN_OPTION...
    signals=$1
    shift
    mkfifo lines
    "$orrery" run --trace "$philly" --cluster 112x8 --copies 8 --digest-every 200 -o run.db "$@" \
        >out 2>lines </dev/null &
    pid=$!
    exec 3<lines
    read -r line <&3
    case $line in
    'philly.csv'*) read -r line <&3 ;; # a note about the trace
    esac
    for signal in $signals; do
        kill -s "$signal" "$pid"
    done
    cat <&3 >err
    exec 3<&-
    code=0
    wait "$pid" || code=$?
    rm lines
    [ "$code" -eq 130 ] || fail "exit code $code, expected 130"
}
case_interrupt() {
    interrupted INT
    says 'interrupted; no results are kept'
    [ ! -s out ] || fail 'an interrupted run printed an answer'
    gone run.db run.db.tmp.*
}
case_interrupt_term() {
    interrupted TERM
    gone run.db run.db.tmp.*
}
case_interrupt_twice() {
    interrupted 'INT INT'
    gone run.db run.db.tmp.*
}
case_interrupt_keep() {
    interrupted INT --keep-partial --json
    has status '"interrupted"'
    gone run.db.tmp.*
    "$orrery" export run.db run >run.csv
    grep -q '^1,philly,interrupted,' run.csv || fail 'the results file does not say interrupted'
    "$orrery" export run.db jobs | awk -F, '{ state[$12]++ } END { exit !(NR > 1 && state["finished"] > 0) }' ||
        fail 'the results file has no finished jobs'
}
# Whenever the signal comes, there is either a whole file and exit code 0 or neither.
case_interrupt_any_time() {
    for delay in 0.01 0.05 0.1 0.2 0.3 0.5 0.8 1.2; do
        "$orrery" run --trace "$philly" --cluster 112x8 --copies 3 --quiet -o run.db >out 2>err </dev/null &
        pid=$!
        sleep "$delay"
        kill -s INT "$pid" 2>/dev/null || true
        code=0
        wait "$pid" || code=$?
        case $code in
        0) [ -s run.db ] || fail 'exit code 0 and no results' ;;
        130) gone run.db ;;
        *) fail "exit code $code after $delay s" ;;
        esac
        gone run.db.tmp.*
        rm -f run.db
    done
}
# The same of verbs that make many files on their way, whoever is told: the program alone.
case_interrupt_studies() {
    mkdir scratch kept pages
    expect 0 "$orrery" run --trace "$philly" --cluster 112x8 -o base.db
    printf 'cluster: {pools: {a: {nodes: 112, gpus: 8}}}\nworkload: [{name: t, trace: %s}]\n' "$philly" >s.yaml
    for delay in 0.05 0.4; do
        for command in 'whatif s.yaml --set cluster.pools.a.nodes=120 -j 2' \
            'whatif s.yaml --set cluster.pools.a.nodes=120 --keep kept' 'gate base.db --propose' \
            'compare base.db base.db --replicas 3 --shake submit=60s' 'plot base.db -o pages' \
            'report base.db -o pages/r.html' 'explain base.db p4711 --what-would-help'; do
            # shellcheck disable=SC2086 # words on purpose
            TMPDIR=$PWD/scratch "$orrery" $command >out 2>err </dev/null &
            pid=$!
            sleep "$delay"
            kill -s TERM "$pid" 2>/dev/null || true
            code=0
            wait "$pid" || code=$?
            case $code in
            0 | 65 | 130 | 143) ;; # 143: before anything was to be put away
            *) fail "exit code $code after $delay s: $command" ;;
            esac
            left=$(ls -A scratch; ls -A pages kept | grep -E "[.](new|tmp|orrery)" || true)
            [ -z "$left" ] || fail "left behind after $delay s by $command: $left"
        done
    done
}

# Nothing stays either when they are ended at once, by a second signal or without being asked.
case_interrupt_studies_at_once() {
    mkdir scratch
    rows 4000 >t.csv
    printf 'cluster: {pools: {a: {nodes: 4, gpus: 8}}}\nworkload: [{name: t, trace: t.csv}]\n' >s.yaml
    for signals in 'TERM TERM' KILL; do
        TMPDIR=$PWD/scratch "$orrery" whatif s.yaml --set cluster.pools.a.nodes=5 --seeds 4 -j 1 >out 2>err </dev/null &
        pid=$!
        while [ -z "$(ls scratch)" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
        for signal in $signals; do
            kill -s "$signal" "$pid" 2>/dev/null || true
        done
        wait "$pid" || true
        tries=0
        while [ -n "$(ls scratch)" ] && [ "$tries" -lt 600 ]; do # the run at hand ends first
            sleep 0.1
            tries=$((tries + 1))
        done
        [ -z "$(ls scratch)" ] || fail "left behind after $signals: $(ls scratch)"
    done
}
case_interrupt_bundle() { # in the middle: it waits for somebody to write into the pipe
    expect 0 "$orrery" run --trace "$philly" --cluster 112x8 -o base.db
    mkfifo figure.svg
    "$orrery" bundle base.db figure.svg -o b.tar.zst >out 2>err </dev/null &
    pid=$!
    while [ ! -e "b.tar.zst.tmp.$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
    kill -s INT "$pid"
    code=0
    wait "$pid" || code=$?
    [ "$code" = 130 ] || fail "exit code $code, expected 130"
    gone b.tar.zst b.tar.zst.tmp.*
}

# Several files are written at a time.
case_interrupt_import() {
    printf 'NodeName=n1 CPUTot=8 RealMemory=1000 Gres=gpu:4 State=IDLE\n' >nodes.txt
    awk 'BEGIN { print "JobID|User|Account|Partition|State|Submit|Start|End|ElapsedRaw|NNodes|NCPUS|AllocTRES"
        for (i = 0; i < 400000; i++) print i "|u|a|p|COMPLETED|" i "|" i "|" i + 9 "|9|1|1|gres/gpu=1" }' >sacct.txt
    for signal in INT TERM; do
        "$orrery" import sacct.txt nodes.txt -o mine >out 2>err </dev/null &
        pid=$!
        while [ ! -e "mine/cluster.yaml.tmp.$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
        kill -s "$signal" "$pid"
        code=0
        wait "$pid" || code=$?
        [ "$code" = 130 ] || fail "exit code $code, expected 130"
        [ -z "$(ls mine)" ] || fail "left behind: $(ls mine)"
    done
}
# A name that somebody took since it was looked at is not replaced.
case_output_appears() {
    rows 100000 >t.csv
    "$orrery" import t.csv --format native -o out.csv >out 2>err </dev/null &
    pid=$!
    while [ ! -e "out.csv.tmp.$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
    echo mine >out.csv
    code=0
    wait "$pid" || code=$?
    [ "$code" = 73 ] || fail "exit code $code, expected 73"
    says 'out.csv: exists already; --force overwrites it'
    [ "$(cat out.csv)" = mine ] || fail 'it was replaced'
    gone out.csv.tmp.*
}

# ---- snapshots ----

snapshot_yaml() {
    printf '%s\n' 'apiVersion: orrery/v1alpha1' 'kind: Snapshot' 'nodes: {n: {gpus: 4}}' \
        'queues: {q: {gpu: [4]}}' 'jobs:' '  a: {queue: q, gpus: 1}'
}

case_snapshot_packed() {
    snapshot_yaml >s.yaml
    expect 0 "$orrery" schedule s.yaml --json
    cp out plain
    gzip -k s.yaml
    expect 0 "$orrery" schedule s.yaml.gz --json
    cmp plain out || fail 'a packed snapshot gives another answer'
    command -v bsdtar >/dev/null || command -v zip >/dev/null || exit 77
    if command -v zip >/dev/null; then zip -q s.zip s.yaml; else bsdtar -a -cf s.zip s.yaml; fi
    expect 0 "$orrery" schedule s.zip --json
    cmp plain out || fail 'a zipped snapshot gives another answer'
    bytes=$(wc -c <s.zip)
    for cut in 1 30 60 100; do
        head -c $((bytes - cut)) s.zip >cut.zip
        code=0
        "$orrery" schedule cut.zip >out 2>err </dev/null || code=$?
        # The directory at the end is not needed to read the one file before it.
        case $code in
        0) cmp plain out >/dev/null || "$orrery" schedule cut.zip --json | cmp - plain ;;
        65) says cut.zip ;;
        *) fail "exit code $code for a zip cut short by $cut bytes" ;;
        esac
    done
}

case_snapshot_of_noise() { # and of a hundred thousand brackets
    head -c 4096 /dev/urandom >noise
    code=0
    "$orrery" schedule noise >out 2>err </dev/null || code=$?
    [ "$code" -eq 65 ] || fail "exit code $code for noise"
    awk 'BEGIN { for (i = 0; i < 100000; i++) printf "["; print "" }' >deep.json
    expect 65 "$orrery" schedule deep.json
    awk 'BEGIN { for (i = 0; i < 5000; i++) { printf "%*sa:\n", i, "" } }' >deep.yaml
    expect 65 "$orrery" schedule deep.yaml
}

# ---- progress ----

case_progress() {
    expect 0 "$orrery" run --trace "$philly" --cluster 112x8 -o run.db
    says_not '%  simulated'
    command -v script >/dev/null || exit 77
    script --version 2>/dev/null | grep -q util-linux || exit 77
    script -qec true /dev/null >/dev/null 2>&1 || exit 77 # no pseudo-terminal to be had here
    for option in '' --no-progress --quiet; do
        env -u CI TERM=vt100 script -qec "'$orrery' run --trace '$philly' --cluster 112x8 --force $option -o run.db" \
            /dev/null </dev/null >terminal
        bars=$(grep -c '%  simulated' terminal || true)
        case $option in
        '') [ "$bars" -gt 0 ] || fail 'no progress bar on a terminal' ;;
        *) [ "$bars" -eq 0 ] || fail "a progress bar in spite of $option" ;;
        esac
    done
}

"case_$name"
