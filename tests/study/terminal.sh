#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# - is standard input; colour where it is wanted and nowhere else; COLUMNS.
#
#   terminal.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

printf 'job,submit_s,run_s,gpus\na,0,100,4\nb,0,200,8\nc,20,3600,8\n' >t.csv
cat >s.yaml <<'END'
cluster: {pools: {p: {nodes: 2, gpus: 8}}}
workload: [{name: t, trace: t.csv}]
END
digest() {
    "$orrery" export "$1" run --format jsonl | sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/'
}
"$orrery" run s.yaml -q -o file.db
"$orrery" run - -q <s.yaml || fail "a scenario from standard input"
[ "$(digest stdin.db)" = "$(digest file.db)" ] || fail "standard input is another scenario"
"$orrery" run --trace - --cluster 2x8 -q -o trace.db <t.csv || fail "a trace from standard input"
[ "$(sqlite3 trace.db 'SELECT count(*) FROM job')" = 3 ] || fail "jobs of standard input"
printf 'cluster: {pools: {p: {nods: 2}}}\n' | "$orrery" check - >out 2>err && fail "a wrong key"
grep -q 'standard input:1:' err || fail "no place in standard input: $(cat err)"
"$orrery" whatif - --set cluster.pools.p.nodes=1 --no-progress --color=never <s.yaml >plain || fail "whatif of standard input"
grep -q '^stdin: base against 1 change' plain || fail "$(cat plain)"
# What is read twice, or looked at first, comes through a pipe as well: of a verb, a shell, a FIFO.
mkfifo fifo
same() { # COMMAND: with t.csv or s.yaml as a file it says the same as with a pipe in its place
    words=$1
    case $words in *FILE*) file=$2 ;; esac
    # shellcheck disable=SC2086 # words on purpose
    "$orrery" $(echo "$words" | sed "s/FILE/$file/") >named 2>&1 || fail "exit $? of $words: $(cat named)"
    # shellcheck disable=SC2086
    "$orrery" $(echo "$words" | sed 's/FILE/-/') <"$file" >direct 2>&1 || fail "exit $? of $words <$file: $(cat direct)"
    # shellcheck disable=SC2086,SC2002 # a pipe is what is tried
    cat "$file" | timeout 60 "$orrery" $(echo "$words" | sed 's/FILE/-/') >piped 2>&1 || fail "exit $? of $words in a pipe: $(cat piped)"
    cat "$file" >fifo &
    # shellcheck disable=SC2086
    timeout 60 "$orrery" $(echo "$words" | sed 's/FILE/fifo/') >fed 2>&1 || fail "exit $? of $words of a FIFO: $(cat fed)"
    wait
    for with in direct piped fed; do
        for out in named $with; do # but for what the input is called
            sed -e "s,/dev/stdin,INPUT,g; s,/dev/fd/[0-9]*,INPUT,g; s,$file,INPUT,g; s/^stdin: /t: /; s/^pipe: /t: /; s/^s: /t: /" \
                -e '/^# .* came through a pipe/d; s/^-: /INPUT: /; s/import - /import INPUT /; s/jobs of [^ ]*,/jobs of it,/; s/stdin/t/g; s/^\(scenario *\)[^ ]*:/\1t:/' "$out" >"$out.same"
        done
        cmp named.same "$with.same" >/dev/null || fail "$words: $(diff named.same "$with.same")"
    done
}
same 'whatif --trace FILE --cluster 2x8 --policy easy --no-progress' t.csv
same 'whatif FILE --policy easy --no-progress' s.yaml
same 'check FILE' s.yaml
same 'check --trace FILE --cluster 2x8' t.csv
same 'import FILE' t.csv
same 'import FILE --map auto' t.csv
same 'schedule FILE' s.yaml
same 'forecast --trace FILE --cluster 2x8 --at 30s --no-progress' t.csv
same 'capacity --trace FILE --cluster 2x8 --vary cluster.pools.c1.nodes=1..3 --objective wait_mean_s<=1h --no-progress' t.csv
printf '%s\n' 'apiVersion: orrery/v1alpha1' 'kind: Snapshot' 'nodes: {n: {gpus: 4}}' 'queues: {q: {gpu: [4]}}' 'jobs:' '  a: {queue: q, gpus: 1}' >now.yaml
same 'schedule FILE' now.yaml
same 'forecast FILE --remaining 1h --no-progress' now.yaml
cat now.yaml | "$orrery" run - --remaining 1h -q -o now.db || fail "run of a snapshot in a pipe"
"$orrery" init --trace - --cluster 2x8 -q -o piped.yaml <t.csv || fail "init of standard input"
"$orrery" run piped.yaml -q -o piped.db <t.csv || fail "a scenario that init made of standard input"
[ "$(digest piped.db)" = "$(digest file.db)" ] || fail "init of standard input is another scenario"

# Colour is asked for, or the answer is without; words are the same. Here is no terminal.
escape=$(printf '\033')
NO_COLOR=1 "$orrery" whatif s.yaml --set cluster.pools.p.nodes=1 --no-progress --color=always >red
grep -q "$escape\[31mworse off:" red || fail "no colour: $(cat red)"
sed "s/$escape\[[0-9]*m//g; s/^s: /stdin: /" red | cmp - plain || fail "colour changes words"
"$orrery" whatif s.yaml --set cluster.pools.p.nodes=1 --no-progress >auto
grep -q "$escape" auto && fail "colour in a file"
"$orrery" whatif s.yaml --set cluster.pools.p.nodes=1 --no-progress --json --color=always >out
grep -q "$escape" out && fail "colour in JSON"

# Figures of characters are as wide as the terminal says.
if command -v gnuplot >/dev/null; then
    COLUMNS=60 "$orrery" plot file.db depth -t dumb >narrow
    [ "$(awk '{ if (length($0) > n) n = length($0) } END { print n }' narrow)" -le 60 ] || fail "wider than COLUMNS"
    for figure in nodes gantt floor waterfall; do # maps too: a cell a column
        for columns in 60 150; do
            COLUMNS=$columns "$orrery" plot file.db $figure -t dumb >map
            widest=$(sed 's/ *$//' map | awk '{ if (length($0) > n) n = length($0) } END { print n }')
            [ "$widest" -le $columns ] || fail "$figure: $widest of $columns columns"
            [ $figure != waterfall ] || grep -Eq '^ *0 +((20 +40 +60 +80|50) +)?100 *$' map || fail "waterfall: numbers of $columns columns meet: $(cat map)"
            [ $figure = floor ] || [ "$widest" -gt $((columns - 20)) ] || fail "$figure leaves $widest of $columns columns"
        done
    done
fi
# Maps and tables of words: names take what the rest of a row leaves.
COLUMNS=40 "$orrery" show file.db --at 50s >map
[ "$(awk '/^n0/ { if (length($0) > n) n = length($0) } END { print n + 0 }' map)" -le 42 ] || fail "$(cat map)"
sed 's/^a,0,100,4$/a,0,100,4,a-queue-with-a-name-that-is-longer-than-others/; s/^job.*/&,queue/; s/^[bc],.*/&,b/' t.csv >named.csv
COLUMNS=100 "$orrery" run --trace named.csv --cluster 2x8 -o named.db >table
grep -q '^a-queue…others *unknown' table || fail "a name does not make room: $(cat table)"
[ "$(sed -n '/^queue/,/^$/p' table | sed 's/…/./; /^a-queue.*:/d' | awk '{ if (length($0) > n) n = length($0) } END { print n }')" -le 100 ] || fail "wider than COLUMNS: $(cat table)"

# A name does not command the terminal; programs get it as it is.
printf 'job,submit_s,run_s,gpus,queue\n"a\033[2J",0,10,1,"q\033[2J"\nb,0,10,1,q2\n' >command.csv
"$orrery" run --trace command.csv --cluster 1x1 -o command.db >table
grep -q '^q?\[2J  *unknown' table || fail "no such queue: $(cat -v table)"
"$orrery" explain command.db "$(printf 'a\033[2J')" >>table
grep -q '^Job a?\[2J of queue q?\[2J asks' table || fail "no such job: $(cat -v table)"
! grep -q "$(printf '\033')" table || fail "a command for the terminal: $(cat -v table)"
"$orrery" explain command.db "$(printf 'a\033[2J')" --json | grep -q 'a\\u001b\[2J' || fail "JSON has another name"

# Whatever the verb, on both streams: C0, DEL, and C1 in both its forms; other letters stay.
printf 'job,submit_s,run_s,gpus,queue,user\n"a\033[2J",0,10,1,"q\033[2J\302\233","\303\274\177\033"\n"b\007",1,10,1,"\302\2332","\233v"\nc\033,2,10,9,q,u\n' >all.csv
"$orrery" run --trace all.csv --cluster 1x1 --allow-loss -o all.db >table 2>&1
sed 's/,10,1,/,9,1,/' all.csv >other.csv
"$orrery" run --trace other.csv --cluster 1x1 --allow-loss -q -o other.db
for command in 'show all.db --at 5' 'blame all.db --by user' 'blame all.db --by job' 'faults all.db --each node' \
    'diff -d all.db other.db' 'audit all.db' 'trace stat all.csv' 'import all.csv' \
    'forecast --trace all.csv --cluster 1x1 --at 3s --allow-loss --no-progress' 'check --trace all.csv --cluster 1x1 --allow-loss'; do
    # shellcheck disable=SC2086 # words on purpose
    "$orrery" $command >>table 2>&1 || true
done
"$orrery" explain all.db "$(printf 'b\007')" --what-would-help >>table 2>&1
grep -q 'job c?: asks 9 GPUs\|job c? asks 9 GPUs' table || fail "no rejected row: $(cat -v table)"
[ "$(LC_ALL=C tr -d '\n\t -~\303\274\342\200\246\357\277\275' <table | wc -c)" = 0 ] || fail "a command for the terminal: $(cat -v table)"
grep -q 'ü?' table || fail "letters are gone: $(cat -v table)"
"$orrery" export all.db jobs | grep -q "$(printf '^a\033\[2J,q\033\[2J\302\233,ü\177\033,')" || fail "a program gets another name"
if script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "'$orrery' export all.db jobs" /dev/null >table </dev/null
    grep -q '^a?\[2J,q?\[2J?,ü??,' table || fail "a table for a terminal: $(cat -v table)"
fi

# So are pages of help, which never get narrower than their columns.
widest() { awk '{ if (length($0) > n) n = length($0) } END { print n }'; }
for columns in 20 60 79 120 200; do
    COLUMNS=$columns "$orrery" run --help | widest >"help-$columns"
done
[ "$(cat help-120)" -gt 90 ] && [ "$(cat help-120)" -le 120 ] && [ "$(cat help-60)" -le 60 ] && [ "$(cat help-20)" -le 60 ] ||
    fail "help is not as wide as COLUMNS: $(head help-*)"
# No option is so long that its line begins where texts do, and what a parameter is without a value stands once.
for verb in $("$orrery" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    ! "$orrery" "$verb" --help | grep '^ \{30,\}-' || fail "$verb --help: an option out of its column"
done
"$orrery" run --help | awk '/^ [A-Z]/ { group = $0 } /--history=/ { exit group !~ /A snapshot/ }' || fail "run --help: --history is no option of a snapshot"
for policy in $("$orrery" policies -q | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p'); do
    "$orrery" policies "$policy" | awk -v policy="$policy" '/^  [^ ].* \(/ { n = gsub(/default/, "&"); next } n && /\(default: / { print policy ": two defaults: " $0; bad = 1 } /default none/ || /default: \)/ { print; bad = 1 } END { exit bad }' ||
        fail "policies $policy"
done

printf 'on a terminal\n'
