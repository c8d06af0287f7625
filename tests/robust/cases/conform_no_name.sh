# A case of features beyond the plain model whose queues or jobs have no name is skipped.
for part in queues jobs; do
    printf '[{"id": "x", "%s": [{}], "plain": false}]\n' $part >s.json
    expect 0 "$orrery" conform s.json
    prints 'needs the key'
done
