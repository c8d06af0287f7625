# A gzip file whose checksum does not fit is an error to every reader.
awk 'BEGIN { print "job,submit_s,run_s,gpus"; for (i = 0; i < 200; i++) print "j" i "," i * 7 "," i * 7919 % 1000 "," 1 + i % 8 }' >t.csv
gzip -1 -c t.csv >good.csv.gz
expect 0 "$orrery" run --trace good.csv.gz --cluster 4x8 -q -o good.db
damage() { # FILE: another checksum
    at=$(($(wc -c <"$1") - 8)) # its first byte
    byte=$(od -An -tu1 -j "$at" -N 1 "$1")
    printf "\\$(printf %o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null
}
cp good.csv.gz bad.csv.gz
damage bad.csv.gz
expect 65 "$orrery" run --trace bad.csv.gz --cluster 4x8 -q -o bad.db
says 'bad.csv.gz'
says 'cannot be decompressed'
expect 65 "$orrery" audit --trace t.csv --cluster 4x8 --rules fcfs --schedule bad.csv.gz
printf 'apiVersion: orrery/v1alpha1\nkind: Snapshot\nnodes: {n: {gpus: 4}}\nqueues: {q: {gpu: [4]}}\njobs: {j: {queue: q, gpus: 1}}\n' >snap.yaml
gzip -c snap.yaml >snap.yaml.gz
expect 0 "$orrery" schedule snap.yaml.gz
damage snap.yaml.gz
expect 65 "$orrery" schedule snap.yaml.gz
expect 0 "$orrery" bundle good.db -o b.tar.gz
expect 0 "$orrery" verify b.tar.gz
damage b.tar.gz
expect 65 "$orrery" verify b.tar.gz
clean
