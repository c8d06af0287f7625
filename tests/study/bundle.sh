#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery bundle` and `orrery verify`: what goes in comes out and repeats, with its traces or with
# them elsewhere; what is not what it says is told; hostile archives are refused.
#
#   bundle.sh ORRERY WORK_DIR SOURCE_DIR
set -eu

orrery=$1 work=$2 source=$3
. "$(dirname "$0")/../scratch.sh"

TMPDIR=$dir/scratch
export TMPDIR
mkdir scratch
answers() { # CODE TEXT COMMAND...: what it says has the text
    want=$1 text=$2 code=0
    shift 2
    "$@" >out 2>&1 || code=$?
    [ "$code" = "$want" ] || fail "$*: exit $code, expected $want"
    grep -q -e "$text" out || fail "$*: does not say '$text'"
    [ -z "$(ls scratch)" ] || fail "$*: leaves files behind"
}

story=$source/scenarios/whatif/reclaim
cp "$story/reclaim.yaml" "$story/reclaim.csv" .
for policy in kai static kube fifo; do
    "$orrery" run reclaim.yaml --policy "$policy" -q --no-progress -o "$policy.db" >out 2>&1 || [ $? = 1 ] || fail "run"
done
"$orrery" run --trace "$source/tests/peers/backfill/hpc2n-exact.swf.gz" --cluster 240x1 --split 1 --policy easy \
    -q --no-progress -o easy.db
echo '<svg/>' >'wait cdf.svg'

# All of it, twice the same bytes; without the sources it repeats from what is in it.
"$orrery" bundle kai.db easy.db 'wait cdf.svg' --with-traces -o one.tar.zst
"$orrery" bundle kai.db easy.db 'wait cdf.svg' --with-traces -o two.tar.zst
cmp one.tar.zst two.tar.zst || fail "two bundles of the same differ"
"$orrery" bundle kai.db static.db kube.db fifo.db -o three.zip
mkdir away
mv reclaim.csv reclaim.yaml away
answers 0 '^2 of 2 runs repeated, 0 differ' "$orrery" verify one.tar.zst --no-progress
answers 66 'reclaim.csv' "$orrery" verify three.zip --no-progress
answers 0 '^3 of 4 runs repeated, 0 differ' "$orrery" verify three.zip --traces away --no-progress
answers 0 '^4 of 4 ' "$orrery" verify three.zip --traces away --no-progress --sample 0 -j 1
mkdir x
tar -C x -xf one.tar.zst
(cd x && sha256sum --quiet -c SHA256SUMS) || fail "the sums are not sha256sum's"
cmp x/results/001-kai.db kai.db && cmp x/figures/wait_cdf.svg 'wait cdf.svg' && cmp x/scenarios/001-kai.given.yaml away/reclaim.yaml ||
    fail "what went in did not come out"
grep -q "seed 1, digest $(sqlite3 kai.db 'SELECT digest FROM run')" x/README.txt || fail "the README lacks the digest"
[ -f x/traces/*-hpc2n-exact.swf.gz ] || fail "a trace of a command line is not in it"

# Another digest, another trace.
mkdir other
sed 's/^\([^,]*\),\([0-9]*\),\([0-9]*\)/\1,\2,1\3/' away/reclaim.csv >other/reclaim.csv
answers 1 'DIFFERS.*traces are not the ones' "$orrery" verify three.zip --traces other --no-progress
cp kai.db lie.db
sqlite3 lie.db "UPDATE run SET digest = '0123456789abcdef'"
"$orrery" bundle lie.db -o lie.tar.gz
answers 1 'DIFFERS: digest 0123456789abcdef' "$orrery" verify lie.tar.gz --traces away --no-progress
sqlite3 x/results/001-kai.db "UPDATE run SET status = 'interrupted', digest = '0123456789abcdef'"
(cd x && sha256sum README.txt figures/* results/* scenarios/* traces/* >SHA256SUMS && tar -czf ../part.tar.gz README.txt SHA256SUMS figures/* results/* scenarios/* traces/*)
answers 1 'DIFFERS: digest 0123456789abcdef, now .*; it was interrupted, and is run to its end here' "$orrery" verify part.tar.gz --no-progress
cp other/reclaim.csv .
answers 65 'is not the trace that the run read' "$orrery" bundle kai.db --with-traces -o no.tar.zst
rm reclaim.csv

# What a made-up part reads goes along.
mkdir gen
printf 'value_s,weight\n60,1\n600,2\n' >gen/runs.csv
cat >gen/made.yaml <<'Y'
cluster: {pools: {p: {nodes: 1, gpus: 4}}}
workload: [{name: made, generate: {sizes: {1: 1}, until: 6h, arrivals: {per_hour: 10}, duration: {empirical: runs.csv}}}]
policy: fifo
Y
"$orrery" run gen/made.yaml -q --no-progress -o made.db
"$orrery" bundle made.db --with-traces -o made.tar.gz
"$orrery" bundle made.db -o bare.tar.gz
mv gen gone
answers 0 '^1 of 1 ' "$orrery" verify made.tar.gz --no-progress
answers 66 'runs.csv' "$orrery" verify bare.tar.gz --no-progress
answers 0 '^1 of 1 ' "$orrery" verify bare.tar.gz --traces gone --no-progress

# What is wrong, in words, and nothing half made.
answers 73 'force' "$orrery" bundle kai.db -o one.tar.zst
answers 64 'tar.zst' "$orrery" bundle kai.db -o one.rar
answers 64 'would both be' "$orrery" bundle kai.db 'wait cdf.svg' x/figures/wait_cdf.svg -o no.zip
answers 66 'gone.db' "$orrery" bundle gone.db -o no.zip
answers 64 'name the archive' "$orrery" bundle kai.db
answers 66 'none.zip' "$orrery" verify none.zip
[ -z "$(ls -A . | grep -E '^no[.](zip|tar[.]zst)')" ] || fail "a bundle that failed is there"

# Archives that nobody should trust. Each has proper sums but for what is wrong with it.
hostile() { # TEXT TAR-OPTION...
    text=$1
    shift
    tar -cf bad.tar "$@"
    answers 65 "$text" "$orrery" verify bad.tar --no-progress
}
refuse_sums() { (cd x && sha256sum README.txt >SHA256SUMS); }
refuse_sums
hostile 'not a name' -P --transform 's|README|../README|' -C x README.txt SHA256SUMS
hostile 'not a name' -P --transform 's|README|/README|' -C x README.txt SHA256SUMS
hostile 'not a name' --transform 's|README|a/b/README|' -C x README.txt SHA256SUMS
hostile 'not a name' --transform 's|README|.README|' -C x README.txt SHA256SUMS
ln -sf /etc/passwd x/link
hostile 'not a plain file' -C x link README.txt SHA256SUMS
ln -f x/README.txt x/hard
hostile 'not a plain file' -C x README.txt hard SHA256SUMS
mkfifo x/pipe
hostile 'not a plain file' -C x pipe SHA256SUMS
hostile 'is there twice' --hard-dereference -C x README.txt README.txt SHA256SUMS
hostile 'has no line in SHA256SUMS' --hard-dereference -C x README.txt results/001-kai.db SHA256SUMS
hostile 'names files that are not there' -C x SHA256SUMS
hostile 'no SHA256SUMS' -C x README.txt
hostile 'there are no results' --hard-dereference -C x README.txt SHA256SUMS
echo more >>x/README.txt
hostile 'is not what SHA256SUMS says' --hard-dereference -C x README.txt SHA256SUMS
echo garbage >x/results/001-kai.db
(cd x && sha256sum results/001-kai.db >SHA256SUMS)
hostile '001-kai.db' -C x results/001-kai.db SHA256SUMS
head -c 3000 one.tar.zst >cut.tar.zst
answers 65 'cut.tar.zst' "$orrery" verify cut.tar.zst --no-progress
answers 65 'wait cdf.svg' "$orrery" verify 'wait cdf.svg' --no-progress
printf 'bundled\n'
