# - is standard input where a file is read, and standard output where the answer is a table; else it is refused
# with what to do, and no file is called so.
printf 'job,submit_s,run_s,gpus\na,0,10,1\nb,0,20,2\n' >t.csv
expect 0 "$orrery" run --trace t.csv --cluster 1x4 -q -o r.db
none() { [ ! -e ./- ] || fail 'a file is called -'; }
"$orrery" trace stat - <t.csv >out || fail 'trace stat -'
prints '2 read, 0 wrong'
cat t.csv | "$orrery" trace convert - -q >out || fail 'trace convert -'
cmp -s out t.csv || fail 'another trace came out'
expect 0 "$orrery" export r.db jobs -o -
prints 'job,queue,user'
none
cat t.csv | "$orrery" import - >out || fail 'import -'
prints '2 read, 2 kept'
cat t.csv | "$orrery" init --trace - --cluster 1x4 >out || fail 'init --trace -'
prints 'trace: "/dev/stdin"'
printf 'kind: Gate\nmode: exact\n' >gate.yaml
for command in 'run --trace t.csv --cluster 1x4 -o -' 'report r.db -o -' 'gate r.db --baseline r.db --spec gate.yaml --summary -' \
    'gate r.db --baseline r.db --spec gate.yaml --junit -' 'bundle r.db -o -'; do
    # shellcheck disable=SC2086 # words of a command line
    expect 64 "$orrery" $command
    says 'standard output is not for this file'
    none
done
clean
