# A setting that cannot be is shown at its place, also where KAI's snapshot or a shard states it.
printf '{"config": {"actions": "allocate",\n "queueDepthPerAction": {"allocate": "many"}},\n "rawObjects": {"nodes": [{"metadata": {"name": "n"}}]}}' >snapshot.json
expect 78 "$orrery" schedule snapshot.json
says 'snapshot.json:2:39: policy kai: parameter queueDepthPerAction.allocate: "many" is not'
cat >shard.yaml <<'END'
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: default}
spec:
  kValue: 0.5
  args:
    max-consolidation-preemptees: lots
---
apiVersion: v1
kind: Node
metadata: {name: n}
END
expect 78 "$orrery" schedule shard.yaml
says 'shard.yaml:7:35: policy kai: parameter max_consolidation_preemptees: "lots" is not'
sed 's/kValue: 0.5/kValue: much/' shard.yaml >weight.yaml
expect 78 "$orrery" schedule weight.yaml
says 'weight.yaml:5:11: policy kai: parameter k_value: "much" is not'
