# What the first cycle of a run ($t: run --trace-cycles) decides otherwise than the one cycle of `orrery schedule` ($s), job by job.
#   bind   pods and the nodes they got;  evict   pods, and the action that took the first of them
# Of a pod's decisions in a cycle the first counts: a run knows none of what it does to a pod twice. A job of which pods
# were bound and taken away again has no one fate: the run starts it where it was promised a place, if that is free.
def verdict: {consolidation: "consolidate", stalegangeviction: "stale gang"}[.] // .;
def line: "\(.what) \(.job) \(.pods) \(.at)";
[$s[0].decisions | to_entries[] | .value + {nr: .key}] as $d
| ($d | map(select(.decision == "bind") | .pod)) as $bound
| ($d | map(select(.decision == "evict" and (.pod | IN($bound[]))) | .job) | unique) as $both
| def fates: map(select(.job | IN($both[]) | not) | line);
  ([$d | group_by(.pod)[] | min_by(.nr) | select(.decision != "pipeline")] | group_by([.job, .decision])
   | map({job: .[0].job, what: .[0].decision, pods: length,
          at: (if .[0].decision == "bind" then map(.node) | unique | join(",") else min_by(.nr).action | verdict end)}) | fates) as $a
| ($t | map(select(.event | IN("start", "grow", "hold", "evict", "shrink")) | . + {what: (if .cause then "evict" else "bind" end)})
   | group_by([.job, .what])
   | map({job: .[0].job, what: .[0].what, pods: (map(.pods) | add), at: (if .[0].cause then .[0].cause else map(.nodes[]) | unique | join(",") end)}) | fates) as $b
| (($a - $b)[] | "- " + .), (($b - $a)[] | "+ " + .)
