# Results, pages, archives and reports never take the place of what they are made from.
printf 'job,submit_s,run_s,gpus\na,0,10,1\n' >t.csv
printf 'cluster: {pools: {p: {nodes: 1, gpus: 1}}}\nworkload: [{name: t, trace: t.csv}]\n' >base.yaml
printf 'extends: base.yaml\nhorizon: 1h\n' >s.yaml
ln -s t.csv link.csv
ln base.yaml hard.yaml
expect 0 "$orrery" run s.yaml -q -o good.db
cp good.db r.db
ln -s r.db link.db
mkdir keep
cp t.csv base.yaml s.yaml r.db keep
kept() {
    for file in t.csv base.yaml s.yaml r.db; do
        cmp -s $file keep/$file || fail "$file was overwritten"
    done
    clean
}
for out in s.yaml base.yaml t.csv link.csv hard.yaml ./t.csv; do
    for force in '' --force; do
        # shellcheck disable=SC2086
        expect 73 "$orrery" run s.yaml -o $out $force
        kept
    done
done
expect 73 "$orrery" run --trace t.csv --cluster 1x1 --force -ot.csv
kept
expect 73 "$orrery" run --trace=t.csv --cluster 1x1 --force --output=link.csv
kept
expect 73 "$orrery" report r.db -o r.db
expect 73 "$orrery" report r.db -o link.db
expect 73 "$orrery" report good.db r.db -o r.db
kept
ln -s ../r.db keep/r.tar.gz
expect 73 "$orrery" bundle r.db -o keep/r.tar.gz --force
rm keep/r.tar.gz
kept
printf 'rules: [{metric: wait_mean_s, max_increase: 5%%}]\n' >gate.yaml
cp gate.yaml keep
code=0
"$orrery" gate r.db --baseline good.db --spec gate.yaml --junit gate.yaml >out 2>err || code=$?
cmp -s gate.yaml keep/gate.yaml || fail 'the rules were overwritten'
code=0
"$orrery" gate r.db --baseline good.db --spec gate.yaml --summary=good.db >out 2>err || code=$?
cmp -s good.db keep/r.db || fail 'the baseline was overwritten'
kept
# what is read without being typed, and what another program wrote, is not a place for a report; one of the same sort is
for out in t.csv base.yaml s.yaml link.csv r.db; do
    expect 73 "$orrery" run s.yaml -q -o new.db --junit $out
    expect 73 "$orrery" run s.yaml -q -o new.db --save-at 5s --state $out
    [ $out = r.db ] || expect 73 "$orrery" run s.yaml -q -o new.db --junit $out --force
    [ $out = r.db ] || expect 73 "$orrery" run s.yaml -q -o new.db --save-at 5s --state $out --force
    expect 73 "$orrery" report good.db -o $out
    expect 73 "$orrery" gate r.db --baseline good.db --spec gate.yaml --junit $out
    expect 73 "$orrery" gate r.db --baseline good.db --spec gate.yaml --summary $out
    [ $out = r.db ] || expect 73 "$orrery" gate r.db --baseline $out --bless
    [ ! -e new.db ] || fail "a run that could not write $out"
    kept
done
cat >fixed.yaml <<'YAML'
kind: Gate
mode: fixed
rules: {wait: {metric: wait_mean_s, margin: 5%}}
YAML
: >gate.md
for again in 1 2; do
    expect 0 "$orrery" gate r.db --baseline good.db --spec fixed.yaml --junit gate.xml --summary gate.md
    expect 0 "$orrery" report r.db -o again.html
    expect 0 "$orrery" run s.yaml -q -o new.db --junit expect.xml
    expect 0 "$orrery" run s.yaml -q -o new.db --junit expect.xml --save-at 5s --force
    rm new.db
done
expect 73 "$orrery" run s.yaml -q -o new.db --save-at 5s
says 'new.state: exists already; --force replaces it'
expect 0 "$orrery" run s.yaml -q -o new.db --junit t2.csv --force
rm new.* again.html gate.xml gate.md expect.xml t2.csv
kept
# what lies where a file is written first is not touched either
for other in x.db.new x.html.new; do echo mine >$other; done
expect 0 "$orrery" report r.db -o x.html
[ "$(cat x.html.new)" = mine ] || fail 'x.html.new was overwritten'
rm -f x.*.new
# a link that leads nowhere is something, too
ln -s nowhere dangling.db
expect 73 "$orrery" run s.yaml -o dangling.db
[ -h dangling.db ] || fail 'the link was replaced'
expect 0 "$orrery" run s.yaml -q -o dangling.db --force
kept
# a name that SQLite would take for a URI is a name
expect 0 "$orrery" run s.yaml -q -o file:x.db
[ -f file:x.db ] || fail 'file:x.db is not there'
kept
