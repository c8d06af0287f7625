/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pod grouper's table: what each kind of owner makes of its pods. */
#include "import_world.h"

/* One line a job: name, priority ("!" if it cannot be preempted), queue, sets with their minimum
 * ("a/b" b below a), pods with the set they join. */
static void render(const struct import_model *model, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t j = 0; j < model->job_count; j++) {
        const struct import_job *job = &model->jobs[j];
        if (job->set_count == 0) {
            continue;
        }
        used += (size_t)snprintf(out + used, bytes - used, "%s %lld%s %s root(%lld)", job->name,
                                 (long long)job->priority, job->preemptible ? "" : "!", job->queue,
                                 (long long)job->sets[0].min);
        for (uint32_t s = 1; s < job->set_count; s++) {
            const struct import_set *set = &job->sets[s];
            used += (size_t)snprintf(out + used, bytes - used, " %s%s%s(%lld)",
                                     set->parent > 0 ? job->sets[set->parent].name : "",
                                     set->parent > 0 ? "/" : "", set->name, (long long)set->min);
        }
        for (uint32_t p = job->first_pod; p != ORR_NONE; p = model->pods[p].next) {
            used += (size_t)snprintf(out + used, bytes - used, " %s=%s", model->pods[p].name,
                                     model->pods[p].subset[0] != '\0' ? model->pods[p].subset
                                                                      : "default");
        }
        used += (size_t)snprintf(out + used, bytes - used, "\n");
    }
}

static void check(const char *yaml, const char *expected)
{
    struct import_world world;
    char text[4000];
    if (!import_world_read(&world, yaml, NULL)) {
        fail_msg("%s", world.err.text);
    }
    render(&world.model, text, sizeof text);
    assert_string_equal(text, expected);
    import_world_release(&world);
}

/* A pod of our scheduler with labels, owned by a kind named o of uid u. */
#define POD(name, labels, owner)                                                                   \
    "- {kind: Pod, metadata: {name: " name ", uid: " name "-uid, labels: {" labels "}" owner       \
    "}, spec: {schedulerName: kai-scheduler}}\n"
#define OWNED(kind)       ", ownerReferences: [{kind: " kind ", name: o, uid: u, controller: true}]"
#define LIST              "kind: List\nitems:\n"
#define OWNER(kind, rest) "- {kind: " kind ", metadata: {name: o, uid: u" rest "\n"

static void karta__is_said_not_to_be_heeded(void **state)
{
    (void)state;
#define UNDER_KARTA                                                                                \
    LIST "- {kind: Karta, metadata: {name: gadgets}, spec: {optimizationInstructions: "            \
         "{}}}\n" OWNER("Gadget", "}}") POD("p", "", OWNED("Gadget"))                              \
             POD("q", "", OWNED("Gadget"))
    check(UNDER_KARTA, "pg-o-u 50 default-queue root(-1) default(1) p=default q=default\n");
    struct orr_snapshot snapshot;
    answer_good(UNDER_KARTA, &snapshot);
    assert_true(noted(&snapshot, "instructions of a Karta are not heeded"));
    assert_false(noted(&snapshot, "kind Karta has no rule"));
    orr_snapshot_release(&snapshot);
}

static void kind_defaults__of_config_maps_are_said_not_to_be_read(void **state)
{
    (void)state;
#define MAPPED "- {kind: ConfigMap, metadata: {name: defaults}, data: {types: '[]'}}\n"
    struct orr_snapshot snapshot;
    answer_good(LIST MAPPED POD("p", "", ""), &snapshot);
    assert_true(noted(&snapshot, "ConfigMaps are not read"));
    orr_snapshot_release(&snapshot);
    answer_good(LIST MAPPED POD("p", "priorityClassName: inference", ""), &snapshot);
    assert_false(noted(&snapshot, "ConfigMaps are not read"));
    orr_snapshot_release(&snapshot);
}

static void pod__alone_is_a_group(void **state)
{
    (void)state;
    check(LIST POD("p", "", "") POD("q", "project: vision", ""),
          "pg-p-p-uid 50 default-queue root(-1) default(1) p=default\n"
          "pg-q-q-uid 50 vision root(-1) default(1) q=default\n");
}

static void job__one_group_of_minimum_one(void **state)
{
    (void)state;
    check(LIST OWNER("Job", "}, spec: {parallelism: 4}}") POD("p", "", OWNED("Job"))
              POD("q", "", OWNED("Job")),
          "pg-o-u 50 default-queue root(-1) default(1) p=default q=default\n");
    check(LIST OWNER("Job", ", annotations: {kai.scheduler/batch-min-member: '3'}}}")
              POD("p", "", OWNED("Job")),
          "pg-o-u 50 default-queue root(-1) default(3) p=default\n");
}

static void cron_job__a_group_for_each_job(void **state)
{
    (void)state;
    check(LIST
          "- {kind: CronJob, metadata: {name: c, uid: cu}}\n"
          "- {kind: Job, metadata: {name: o, uid: u, annotations: {kai.scheduler/batch-min-member: "
          "'4'}, ownerReferences: [{kind: CronJob, name: c, uid: cu}]}}\n"
          "- {kind: Job, metadata: {name: o2, uid: u2, ownerReferences: [{kind: CronJob, name: c, "
          "uid: cu}]}}\n" POD("p", "", OWNED("Job"))
              POD("q", "", ", ownerReferences: [{kind: Job, name: o2, uid: u2}]"),
          "pg-o-u 50 default-queue root(-1) default(1) p=default\n"
          "pg-o2-u2 50 default-queue root(-1) default(1) q=default\n");
}

static void deployment__a_group_for_each_pod(void **state)
{
    (void)state;
    static const char *const expected =
        "pg-p-p-uid 125! default-queue root(-1) default(1) p=default\n"
        "pg-q-q-uid 125! default-queue root(-1) default(1) q=default\n";
    check(LIST
          "- {kind: Deployment, metadata: {name: d, uid: du}}\n"
          "- {kind: ReplicaSet, metadata: {name: o, uid: u, ownerReferences: [{kind: Deployment, "
          "name: d, uid: du}]}}\n" POD("p", "", OWNED("ReplicaSet"))
              POD("q", "", OWNED("ReplicaSet")),
          expected);
}

static void deployment__is_told_from_the_name_of_a_missing_replica_set(void **state)
{
    (void)state;
    check(LIST POD("p", "pod-template-hash: 5d9",
                   ", ownerReferences: [{kind: ReplicaSet, name: web-5d9, uid: u}]")
              POD("q", "pod-template-hash: 5d9",
                  ", ownerReferences: [{kind: ReplicaSet, name: web, uid: u3}]"),
          "pg-p-p-uid 125! default-queue root(-1) default(1) p=default\n"
          "pg-web-u3 50 default-queue root(-1) default(1) q=default\n");
}

static void default_kinds__one_group_an_owner(void **state)
{
    (void)state;
    static const char *const kinds[] = {
        "StatefulSet",  "ReplicaSet",  "SeldonDeployment", "VirtualMachineInstance",
        "DevWorkspace", "PipelineRun", "TaskRun",          "ScheduledWorkflow",
        "Unheard"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char text[1000];
        (void)snprintf(text, sizeof text,
                       LIST "- {kind: %s, metadata: {name: o, uid: u}}\n" POD(
                           "p", "", ", ownerReferences: [{kind: %s, name: o, uid: u}]")
                           POD("q", "", ", ownerReferences: [{kind: %s, name: o, uid: u}]"),
                       kinds[i], kinds[i], kinds[i]);
        check(text, "pg-o-u 50 default-queue root(-1) default(1) p=default q=default\n");
    }
}

static void notebook__cannot_be_preempted(void **state)
{
    (void)state;
    check(LIST OWNER("Notebook", "}}") POD("p", "", OWNED("Notebook")),
          "pg-o-u 100! default-queue root(-1) default(1) p=default\n");
}

static void knative__a_group_for_each_revision(void **state)
{
    (void)state;
#define REVISION(name, more)                                                                       \
    "- {kind: Revision, metadata: {name: " name ", uid: " name "-uid" more                         \
    ", ownerReferences: [{kind: Service, name: o, uid: u}]}}\n"
#define REVISED(pod, name)                                                                         \
    POD(pod, "serving.knative.dev/revision: " name ", kai.scheduler/preemptibility: preemptible",  \
        ", ownerReferences: [{kind: Revision, name: " name ", uid: " name "-uid}]")
    /* Labels of the Service count for nothing, preemptibility is not read. */
    check(LIST OWNER("Service", ", labels: {kai.scheduler/queue: q7}}}")
              REVISION("r1", ", annotations: {autoscaling.knative.dev/min-scale: '3'}, labels: "
                             "{kai.scheduler/queue: q1}")
                  REVISION("r2", ", annotations: {autoscaling.knative.dev/min-scale: x}")
                      REVISED("p", "r1") REVISED("q", "r2")
                          POD("r", "serving.knative.dev/revision: none",
                              ", ownerReferences: [{kind: Revision, name: r2, uid: r2-uid}]"),
          "pg-r1-r1-uid 125! q1 root(-1) default(3) p=default\n"
          "pg-r2-r2-uid 125! default-queue root(-1) default(1) q=default\n");
}

static void runai_job__after_the_name_of_its_pods(void **state)
{
    (void)state;
    check(LIST OWNER("RunaiJob", "}}") POD("a-0", "", OWNED("RunaiJob"))
              POD("a-1", "", OWNED("RunaiJob")) POD("b-x-0", "", OWNED("RunaiJob")),
          "pg-a-u 50 default-queue root(-1) default(1) a-0=default a-1=default\n"
          "pg-b-x-u 50 default-queue root(-1) default(1) b-x-0=default\n");
}

static void tf_job__all_replicas_or_what_its_policy_says(void **state)
{
    (void)state;
    check(LIST OWNER("TFJob",
                     "}, spec: {tfReplicaSpecs: {PS: {replicas: 2}, Worker: {replicas: 3}}}}")
              POD("p", "", OWNED("TFJob")),
          "pg-o-u 50 default-queue root(-1) default(5) p=default\n");
    check(LIST OWNER("TFJob", "}, spec: {tfReplicaSpecs: {Worker: {replicas: 3}}, runPolicy: "
                              "{schedulingPolicy: {minAvailable: 2}}}}")
              POD("p", "", OWNED("TFJob")),
          "pg-o-u 50 default-queue root(-1) default(2) p=default\n");
    check(LIST OWNER("TFJob", "}, spec: {tfReplicaSpecs: {Worker: {}}}}")
              POD("p", "", OWNED("TFJob")),
          "");
}

static void xgboost_job__needs_master_and_worker(void **state)
{
    (void)state;
    check(LIST OWNER("XGBoostJob",
                     "}, spec: {xgbReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 2}}}}")
              POD("p", "", OWNED("XGBoostJob")),
          "pg-o-u 50 default-queue root(-1) default(3) p=default\n");
    check(LIST OWNER("XGBoostJob", "}, spec: {xgbReplicaSpecs: {Worker: {replicas: 2}}}}")
              POD("p", "", OWNED("XGBoostJob")),
          "");
}

static void jax_job__needs_a_worker(void **state)
{
    (void)state;
    check(LIST OWNER("JAXJob", "}, spec: {jaxReplicaSpecs: {Worker: {replicas: 4}}}}")
              POD("p", "", OWNED("JAXJob")),
          "pg-o-u 50 default-queue root(-1) default(4) p=default\n");
    check(LIST OWNER("JAXJob", "}, spec: {jaxReplicaSpecs: {Master: {replicas: 4}}}}")
              POD("p", "", OWNED("JAXJob")),
          "");
}

#define MPI "mpiReplicaSpecs: {Launcher: {replicas: 1}, Worker: {replicas: 4}}"
static void mpi_job__without_a_launcher_that_waits(void **state)
{
    (void)state;
    check(LIST OWNER("MPIJob", "}, spec: {" MPI "}}") POD("p", "", OWNED("MPIJob")),
          "pg-o-u 50 default-queue root(-1) default(5) p=default\n");
    check(LIST OWNER("MPIJob", "}, spec: {launcherCreationPolicy: WaitForWorkersReady, " MPI "}}")
              POD("p", "", OWNED("MPIJob")),
          "pg-o-u 50 default-queue root(-1) default(4) p=default\n");
    check(LIST OWNER("MPIJob", "}, spec: {launcherCreationPolicy: WaitForWorkersReady, " MPI "}}")
              POD("p",
                  "training.kubeflow.org/job-name: o, training.kubeflow.org/job-role: launcher",
                  OWNED("MPIJob")),
          "pg-o-u 50 default-queue root(-1) default(5) p=default\n");
}

#define TORCH "pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 5}}"
#define TORCH_PODS                                                                                 \
    POD("m", "training.kubeflow.org/replica-type: master", OWNED("PyTorchJob"))                    \
    POD("w",                                                                                       \
        "training.kubeflow.org/replica-type: worker, training.kubeflow.org/replica-index: "        \
        "'3'",                                                                                     \
        OWNED("PyTorchJob"))
static void pytorch_job__master_and_workers(void **state)
{
    (void)state;
    check(LIST OWNER("PyTorchJob", "}, spec: {" TORCH "}}") TORCH_PODS,
          "pg-o-u 50 default-queue root(-1) master(1) worker(5) m=master w=worker\n");
    check(LIST OWNER("PyTorchJob", "}, spec: {elasticPolicy: {minReplicas: 3}, " TORCH "}}")
              TORCH_PODS,
          "pg-o-u 50 default-queue root(-1) master(1) worker(2) m=master w=worker\n");
    check(LIST OWNER("PyTorchJob",
                     "}, spec: {elasticPolicy: {minReplicas: 3}, runPolicy: {schedulingPolicy: "
                     "{minAvailable: 4}}, " TORCH "}}") TORCH_PODS,
          "pg-o-u 50 default-queue root(-1) master(1) worker(3) m=master w=worker\n");
}

#define TORCH_SEGMENTS(size)                                                                       \
    "pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 5, template: {metadata: "     \
    "{annotations: {kai.scheduler/segment-size: '" size "'}}}}}"
static void pytorch_job__workers_in_segments(void **state)
{
    (void)state;
    check(LIST OWNER("PyTorchJob", "}, spec: {" TORCH_SEGMENTS("2") "}}") TORCH_PODS,
          "pg-o-u 50 default-queue root(-1) master(1) worker(3) worker/worker-0(2) "
          "worker/worker-1(2) worker/worker-2(1) m=master w=worker-1\n");
    check(LIST OWNER("PyTorchJob", "}, spec: {elasticPolicy: {minReplicas: 3}, " TORCH_SEGMENTS(
                                       "2") "}}") TORCH_PODS,
          "pg-o-u 50 default-queue root(-1) master(1) worker(3) worker/worker-0(2) "
          "worker/worker-1(0) worker/worker-2(0) m=master w=worker-1\n");
    check(LIST OWNER("PyTorchJob", "}, spec: {" TORCH_SEGMENTS("x") "}}") TORCH_PODS, "");
    /* The job's own annotation is not looked at; without workers there is no set of them. */
    check(LIST OWNER("PyTorchJob", ", annotations: {kai.scheduler/segment-size: x}}, spec: {" TORCH
                                   "}}") TORCH_PODS,
          "pg-o-u 50 default-queue root(-1) master(1) worker(5) m=master w=worker\n");
    check(LIST OWNER("PyTorchJob", "}, spec: {pytorchReplicaSpecs: {Master: {replicas: 1}}}}")
              POD("m", "training.kubeflow.org/replica-type: master", OWNED("PyTorchJob")),
          "pg-o-u 50 default-queue root(-1) master(1) m=master\n");
}

#define GROUPS                                                                                     \
    "workerGroupSpecs: [{groupName: a, replicas: 4, minReplicas: 2, numOfHosts: 2}, {groupName: "  \
    "b, replicas: 3}, {groupName: c, replicas: 3, suspend: true}, {groupName: d}]"
#define RAY_PODS(kind)                                                                             \
    POD("h", "ray.io/group: headgroup", OWNED(kind))                                               \
    POD("w", "ray.io/group: b", OWNED(kind))                                                       \
    POD("x", "ray.io/group: d", OWNED(kind))
#define CLUSTER "- {kind: RayCluster, metadata: {name: c, uid: c}, spec: {" GROUPS "}}\n"
/* v0.17 looks for `suspended` where KubeRay writes `suspend`: group c counts. */
static void ray__head_and_worker_groups(void **state)
{
    (void)state;
    static const char *const expected = "pg-o-u 50 default-queue root(-1) headgroup(1) a(4) b(3) "
                                        "c(3) h=headgroup w=b x=default\n";
    check(LIST OWNER("RayCluster", "}, spec: {" GROUPS "}}") RAY_PODS("RayCluster"), expected);
    check(LIST OWNER("RayJob", "}, status: {rayClusterName: c}}") CLUSTER RAY_PODS("RayJob"),
          expected);
    check(LIST OWNER("RayService", "}, status: {pendingServiceStatus: {rayClusterName: c}}}")
              CLUSTER RAY_PODS("RayService"),
          expected);
    check(LIST OWNER("RayJob", "}}") CLUSTER RAY_PODS("RayJob"), "");
}

static void ray__its_own_priority_label(void **state)
{
    (void)state;
#define HEAD POD("h", "ray.io/group: headgroup", OWNED("RayCluster"))
    check(LIST OWNER("RayCluster", ", labels: {ray.io/priority-class-name: build}}, spec: {}}")
              HEAD,
          "pg-o-u 100! default-queue root(-1) headgroup(1) h=headgroup\n");
    /* It counts though no such class exists. */
    check(LIST OWNER("RayCluster", ", labels: {ray.io/priority-class-name: none-such, "
                                   "priorityClassName: build}}, spec: {}}") HEAD,
          "pg-o-u 50 default-queue root(-1) headgroup(1) h=headgroup\n");
    check(LIST OWNER("RayCluster", "}, spec: {workerGroupSpecs: [{groupName: a, replicas: 1, "
                                   "minReplicas: 2, suspend: true}]}}") HEAD,
          "");
}

#define LWS_POD(name, worker, more)                                                                \
    "- {kind: Pod, metadata: {name: " name ", uid: " name "-uid, labels: {"                        \
    "leaderworkerset.sigs.k8s.io/name: o, leaderworkerset.sigs.k8s.io/group-index: '7', "          \
    "leaderworkerset.sigs.k8s.io/worker-index: '" worker                                           \
    "'}" OWNED("LeaderWorkerSet") "}, spec: {schedulerName: kai-scheduler" more "}}\n"
static void leader_worker_set__a_group_for_each_index(void **state)
{
    (void)state;
    check(LIST OWNER("LeaderWorkerSet", "}, spec: {leaderWorkerTemplate: {size: 4}}}")
              LWS_POD("l", "0", "") LWS_POD("w", "2", ""),
          "pg-o-u-group-7 50 default-queue root(-1) leader(1) workers(3) l=leader w=workers\n");
    check(LIST OWNER("LeaderWorkerSet", "}, spec: {leaderWorkerTemplate: {size: 5, subGroupPolicy: "
                                        "{subGroupSize: 2}}}}") LWS_POD("l", "0", "")
              LWS_POD("w", "3", ""),
          "pg-o-u-group-7 50 default-queue root(-1) segment-0(2) segment-0/leader(1) "
          "segment-0/workers(2) segment-1(2) l=leader w=segment-1\n");
    /* One segment of all workers: the leader is counted among them, as v0.17 does. */
    check(LIST OWNER("LeaderWorkerSet", "}, spec: {leaderWorkerTemplate: {size: 3, subGroupPolicy: "
                                        "{subGroupSize: 2}}}}") LWS_POD("l", "0", "")
              LWS_POD("w", "2", ""),
          "pg-o-u-group-7 50 default-queue root(-1) segment-0(2) segment-0/leader(1) "
          "segment-0/workers(3) l=leader w=workers\n");
    check(LIST OWNER("LeaderWorkerSet",
                     "}, spec: {leaderWorkerTemplate: {size: 5, subGroupPolicy: {subGroupSize: 2, "
                     "subGroupPolicyType: LeaderExcluded}}}}") LWS_POD("l", "0", "")
              LWS_POD("w", "3", ""),
          "pg-o-u-group-7 50 default-queue root(-1) leader(1) segment-0(2) segment-1(2) l=leader "
          "w=segment-1\n");
    check(LIST OWNER("LeaderWorkerSet",
                     "}, spec: {leaderWorkerTemplate: {size: 4, workerTemplate: {metadata: "
                     "{annotations: {kai.scheduler/segment-size: '2'}}}}}}") LWS_POD("l", "0", "")
              LWS_POD("w", "2", ""),
          "pg-o-u-group-7 50 default-queue root(-1) segment-0(2) segment-0/leader(1) "
          "segment-0/workers(1) segment-1(2) l=leader w=segment-1\n");
    static const char *const refused[] = {"{subGroupSize: 1}", "{subGroupSize: 6}",
                                          "{subGroupSize: 3, subGroupPolicyType: LeaderExcluded}"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char text[600];
        (void)snprintf(text, sizeof text,
                       LIST OWNER("LeaderWorkerSet", "}, spec: {leaderWorkerTemplate: {size: 5, "
                                                     "subGroupPolicy: %s}}}") LWS_POD("l", "0", ""),
                       refused[i]);
        check(text, "");
    }
}

/* The workers' StatefulSet is the leader pod's. */
static void leader_worker_set__workers_of_the_leader(void **state)
{
    (void)state;
#define LWS_LABELS(worker)                                                                         \
    "labels: {leaderworkerset.sigs.k8s.io/name: o, leaderworkerset.sigs.k8s.io/group-index: '0', " \
    "leaderworkerset.sigs.k8s.io/worker-index: '" worker "'}"
    check(
        LIST OWNER(
            "LeaderWorkerSet",
            "}, spec: {leaderWorkerTemplate: {size: 2}}}") "- {kind: StatefulSet, metadata: {name: "
                                                           "o, uid: s, ownerReferences: [{kind: "
                                                           "LeaderWorkerSet, name: o, uid: u}]}}\n"
                                                           "- {kind: Pod, metadata: {name: o-0, "
                                                           "uid: l, " LWS_LABELS(
                                                               "0") ", ownerReferences: [{kind: "
                                                                    "StatefulSet, name: o, uid: "
                                                                    "s}]}, spec: "
                                                                    "{schedulerName: "
                                                                    "kai-scheduler}}\n"
                                                                    "- {kind: StatefulSet, "
                                                                    "metadata: {name: o-0, uid: t, "
                                                                    "ownerReferences: "
                                                                    "[{kind: Pod, name: o-0, uid: "
                                                                    "l}]}}\n"
                                                                    "- {kind: Pod, metadata: "
                                                                    "{name: o-0-1, uid: "
                                                                    "w, " LWS_LABELS(
                                                                        "1") ", ownerReferences: "
                                                                             "[{kind: StatefulSet, "
                                                                             "name: o-0, uid: "
                                                                             "t}]}, "
                                                                             "spec: "
                                                                             "{schedulerName: "
                                                                             "kai-scheduler}}\n",
        "pg-o-u-group-0 50 default-queue root(-1) leader(1) workers(1) o-0=leader "
        "o-0-1=workers\n");
}

#define READY "}, spec: {startupPolicy: LeaderReady, leaderWorkerTemplate: {size: 4}}}"
static void leader_worker_set__leader_first(void **state)
{
    (void)state;
    check(LIST OWNER("LeaderWorkerSet", READY) LWS_POD("l", "0", ""),
          "pg-o-u-group-7 50 default-queue root(-1) leader(1) l=leader\n");
    /* A worker writes the group last: the leader waits in a group of its full size. */
    check(LIST OWNER("LeaderWorkerSet", READY) LWS_POD("l", "0", "") LWS_POD("w", "1", ""),
          "pg-o-u-group-7 50 default-queue root(-1) leader(1) workers(3) l=leader w=workers\n");
    /* Then a pod's annotation says how many there are, if it is a number. */
#define SIZED_POD(size)                                                                            \
    "- {kind: Pod, metadata: {name: w, uid: wu, annotations: {leaderworkerset.sigs.k8s.io/size: "  \
    "'" size "'}, labels: {leaderworkerset.sigs.k8s.io/worker-index: '1'}" OWNED(                  \
        "LeaderWorkerSet") "}, spec: {schedulerName: kai-scheduler}}\n"
    check(LIST OWNER("LeaderWorkerSet", READY) SIZED_POD("3"),
          "pg-o-u 50 default-queue root(-1) leader(1) workers(2) w=workers\n");
    check(LIST OWNER("LeaderWorkerSet", READY) SIZED_POD("x"),
          "pg-o-u 50 default-queue root(-1) leader(1) workers(3) w=workers\n");
    check(LIST OWNER("LeaderWorkerSet", "}, spec: {leaderWorkerTemplate: {size: 4}}}")
              SIZED_POD("3"),
          "pg-o-u 50 default-queue root(-1) leader(1) workers(3) w=workers\n");
    check(LIST OWNER("LeaderWorkerSet", READY) LWS_POD("l", "0", ", nodeName: n1"),
          "pg-o-u-group-7 50 default-queue root(-1) leader(1) workers(3) l=leader\n");
}

#define JOBS                                                                                       \
    "replicatedJobs: [{name: a, replicas: 2, template: {spec: {parallelism: 3}}}, {name: b, "      \
    "template: {metadata: {annotations: {kai.scheduler/batch-min-member: '1'}}, spec: "            \
    "{parallelism: 5}}}]"
#define JOBSET_POD                                                                                 \
    POD("p", "jobset.sigs.k8s.io/replicatedjob-name: a, jobset.sigs.k8s.io/job-index: '1'",        \
        OWNED("JobSet"))
static void job_set__two_levels(void **state)
{
    (void)state;
    check(LIST OWNER("JobSet", "}, spec: {" JOBS "}}") JOBSET_POD,
          "pg-o-u 50 default-queue root(2) a(2) a/a-replica-0(3) a/a-replica-1(3) b(1) "
          "b/b-replica-0(1) p=a-replica-1\n");
    check(LIST OWNER("JobSet", "}, spec: {startupPolicy: {startupPolicyOrder: InOrder}, " JOBS "}}")
              JOBSET_POD,
          "pg-o-u 50 default-queue root(1) a(2) a/a-replica-0(3) a/a-replica-1(3) b(1) "
          "b/b-replica-0(1) p=a-replica-1\n");
    check(LIST OWNER("JobSet", ", annotations: {kai.scheduler/batch-min-member: '9'}}, spec: {" JOBS
                               "}}") JOBSET_POD,
          "pg-o-u 50 default-queue root(2) a(2) a/a-replica-0(3) a/a-replica-1(3) b(1) "
          "b/b-replica-0(1) p=a-replica-1\n");
}

#define GANG(more)                                                                                 \
    "- {kind: PodGang, metadata: {name: g, uid: gu, labels: {kai.scheduler/queue: qg}, "           \
    "annotations: {kai.scheduler/topology: dc}}, spec: {priorityClassName: build, podgroups: "     \
    "[{name: a, minReplicas: 2, podReferences: [{namespace: default, name: x}]}, {name: b, "       \
    "minReplicas: 1, podReferences: [{namespace: default, name: p}]}]" more "}}\n"
#define GANG_POD(kind)                                                                             \
    POD("p", "grove.io/podgang: g, kai.scheduler/queue: q2",                                       \
        ", ownerReferences: [{kind: " kind ", name: o, uid: u}]")
static void grove__groups_of_its_gang(void **state)
{
    (void)state;
#define GROUPED ", topologyConstraintGroupConfigs: [{name: t, podGroupNames: [a, b]}]"
    static const char *const expected = "pg-g-gu 100! qg root(-1) t(2) t/a(2) t/b(1) p=b\n";
    check(LIST OWNER("PodGangSet", "}}") GANG(GROUPED) GANG_POD("PodGangSet"), expected);
    check(LIST OWNER("PodCliqueSet", ", labels: {kai.scheduler/queue: q7}}}") GANG(GROUPED)
              GANG_POD("PodCliqueSet"),
          expected);
    check(LIST OWNER("PodCliqueSet", ", labels: {priorityClassName: inference, "
                                     "kai.scheduler/preemptibility: preemptible}}}") GANG("")
              GANG_POD("PodCliqueSet"),
          "pg-g-gu 125 qg root(-1) a(2) b(1) p=b\n");
    check(LIST OWNER("PodCliqueSet", "}}") GANG_POD("PodCliqueSet"), "");
}

static void grove__levels_of_the_gang_then_of_the_set(void **state)
{
    (void)state;
    struct import_world world;
    assert_true(import_world_read(
        &world,
        LIST OWNER("PodCliqueSet",
                   ", annotations: {kai.scheduler/topology-preferred-placement: host, "
                   "kai.scheduler/topology-required-placement: zone}}}")
            GANG(", topologyConstraint: {packConstraint: {required: rack}}")
                GANG_POD("PodCliqueSet"),
        NULL));
    assert_string_equal(world.model.jobs[0].sets[0].constraint.topology, "dc");
    assert_string_equal(world.model.jobs[0].sets[0].constraint.required, "rack");
    assert_string_equal(world.model.jobs[0].sets[0].constraint.preferred, "host");
    assert_null(world.model.jobs[0].sets[1].constraint.topology);
    import_world_release(&world);
}

static void spark__by_its_selector(void **state)
{
    (void)state;
    check(LIST POD("d", "spark-app-name: x, spark-app-selector: spark-1", "")
              POD("e", "spark-app-name: x, spark-app-selector: spark-1",
                  ", ownerReferences: [{kind: Pod, name: d, uid: d-uid}]"),
          "spark-1 50 default-queue root(-1) default(1) d=default e=default\n");
}

/* A driver that an operator made is of the operator's object, by the default rule. */
static void spark__below_an_application_is_grouped_by_it(void **state)
{
    (void)state;
    check(LIST OWNER("SparkApplication", ", labels: {kai.scheduler/queue: q7}}}")
              POD("d", "spark-app-name: x, spark-app-selector: spark-1", OWNED("SparkApplication"))
                  POD("e", "spark-app-name: x, spark-app-selector: spark-1",
                      ", ownerReferences: [{kind: Pod, name: d, uid: d-uid}]"),
          "pg-o-u 50 q7 root(-1) default(1) d=default e=default\n");
}

static void aml_job__nodes_from_its_spec(void **state)
{
    (void)state;
    check(LIST OWNER("AmlJob", "}, spec: {job: {options: {envs: {AZUREML_NODE_COUNT: 3}}}}}")
              POD("p", "", OWNED("AmlJob")),
          "pg-o-u 50 default-queue root(-1) default(3) p=default\n");
    check(LIST OWNER("AmlJob", "}, spec: {job: {options: {envs: {AZUREML_NODE_COUNT: '3'}}}}}")
              POD("p", "", OWNED("AmlJob")),
          "");
}

static void spot_request__inference(void **state)
{
    (void)state;
    check(LIST OWNER("SPOTRequest", "}}") POD("p", "", OWNED("SPOTRequest")),
          "pg-o-u 125! default-queue root(-1) default(1) p=default\n");
}

static void wrappers__are_looked_through(void **state)
{
    (void)state;
    static const char *const kinds[] = {"TrainJob",
                                        "DynamoGraphDeployment",
                                        "TrainingWorkload",
                                        "InteractiveWorkload",
                                        "DistributedWorkload",
                                        "InferenceWorkload",
                                        "DistributedInferenceWorkload"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char text[1500];
        (void)snprintf(text, sizeof text,
                       LIST "- {kind: %s, metadata: {name: t, uid: tu, labels: "
                            "{kai.scheduler/queue: q7, priorityClassName: build}}}\n"
                            "- {kind: Job, metadata: {name: o, uid: u, ownerReferences: [{kind: "
                            "%s, name: t, uid: tu}]}}\n" POD("p", "", OWNED("Job")),
                       kinds[i], kinds[i]);
        check(text, "pg-o-u 100! q7 root(-1) default(1) p=default\n");
    }
    /* What the inner owner says itself goes first; without one the pod is the inner owner. */
    check(LIST
          "- {kind: TrainJob, metadata: {name: t, uid: tu, labels: {kai.scheduler/queue: q7, "
          "priorityClassName: build}}}\n"
          "- {kind: Job, metadata: {name: o, uid: u, labels: {priorityClassName: inference}, "
          "ownerReferences: [{kind: TrainJob, name: t, uid: tu}]}}\n" POD("p", "", OWNED("Job")),
          "pg-o-u 125! q7 root(-1) default(1) p=default\n");
    check(LIST OWNER("Workflow", ", labels: {priorityClassName: build}}}")
              POD("p", "", OWNED("Workflow"))
                  POD("q", "priorityClassName: train", OWNED("Workflow")),
          "pg-p-p-uid 100! default-queue root(-1) default(1) p=default\n"
          "pg-q-q-uid 50 default-queue root(-1) default(1) q=default\n");
    check(LIST OWNER("Workflow", ", labels: {kai.scheduler/queue: q7}}}")
              POD("p", "", OWNED("Workflow")) POD("q", "", OWNED("Workflow")),
          "pg-p-p-uid 50 q7 root(-1) default(1) p=default\n"
          "pg-q-q-uid 50 q7 root(-1) default(1) q=default\n");
}

static void kinds__of_other_groups_are_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *ours, *other;
    } rows[] = {{"Deployment", "apps/v1", "example.com/v1"},
                {"Notebook", "kubeflow.org/v1beta1", "kubeflow.org/v1"},
                {"SPOTRequest", "egx.nvidia.io/v1", "egx.nvidia.io/v2"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int other = 0; other < 2; other++) {
            char text[600];
            (void)snprintf(text, sizeof text,
                           LIST POD("p", "",
                                    ", ownerReferences: [{apiVersion: %s, kind: %s, name: o, "
                                    "uid: u}]"),
                           other != 0 ? rows[i].other : rows[i].ours, rows[i].kind);
            struct import_world world;
            assert_true(import_world_read(&world, text, NULL));
            assert_int_equal(world.model.jobs[0].priority == 50, other != 0);
            import_world_release(&world);
        }
    }
    check(LIST "- {apiVersion: batch.example.com/v1, kind: Job, metadata: {name: o, uid: u, "
               "annotations: {kai.scheduler/batch-min-member: '3'}}}\n" POD(
                   "p", "",
                   ", ownerReferences: [{apiVersion: batch.example.com/v1, kind: Job, name: o, "
                   "uid: u}]"),
          "pg-o-u 50 default-queue root(-1) default(1) p=default\n");
    check(LIST POD("p", "",
                   ", ownerReferences: [{apiVersion: example.com/v1, kind: OddWorkload, name: o, "
                   "uid: u}]"),
          "pg-o-u 50 default-queue root(-1) default(1) p=default\n");
}

static void skipped__if_the_pod_or_an_owner_says_so(void **state)
{
    (void)state;
#define SKIP(word) ", annotations: {kai.scheduler/skip-podgrouper: '" word "'}"
#define UNOWNED(word)                                                                              \
    "- {kind: Pod, metadata: {name: p, uid: pu" SKIP(word) "}, spec: {schedulerName: "             \
                                                           "kai-scheduler}}\n"
    check(LIST UNOWNED("true"), "");
    check(LIST UNOWNED("1"), "pg-p-pu 50 default-queue root(-1) default(1) p=default\n");
    check(LIST OWNER("Job", SKIP("true") "}}") POD("p", "", OWNED("Job")), "");
    check(LIST OWNER("Job", SKIP("false") "}}") POD("p", "", OWNED("Job")),
          "pg-o-u 50 default-queue root(-1) default(1) p=default\n");
}

static void pod_group__that_is_not_given(void **state)
{
    (void)state;
#define NAMED(owner)                                                                               \
    "- {kind: Pod, metadata: {name: p, uid: pu, annotations: {pod-group-name: mine}" owner         \
    "}, spec: {schedulerName: kai-scheduler}}\n"
    check(LIST NAMED(""), "");
    check(LIST OWNER("Job", "}}") NAMED(OWNED("Job")),
          "pg-o-u 50 default-queue root(-1) default(1) p=default\n");
    check(LIST OWNER("Job", "}}") "- {kind: PodGroup, metadata: {name: mine, labels: "
                                  "{kai.scheduler/node-pool: other}}}\n" NAMED(OWNED("Job")),
          "");
}

static void default_rule__looks_from_the_pod_up(void **state)
{
    (void)state;
    check(LIST "- {kind: Middle, metadata: {name: m, uid: mu, labels: {priorityClassName: build, "
               "kai.scheduler/queue: q1}, ownerReferences: [{kind: Top, name: t, uid: tu}]}}\n"
               "- {kind: Top, metadata: {name: t, uid: tu, labels: {priorityClassName: inference, "
               "kai.scheduler/preemptibility: preemptible}}}\n" POD(
                   "p", "", ", ownerReferences: [{kind: Middle, name: m, uid: mu}]"),
          "pg-t-tu 100 default-queue root(-1) default(1) p=default\n");
#define BOTH(middle, top)                                                                          \
    LIST "- {kind: Middle, metadata: {name: m, uid: mu, " middle                                   \
         ", ownerReferences: [{kind: Top, name: t, uid: tu}]}}\n"                                  \
         "- {kind: Top, metadata: {name: t, uid: tu, " top                                         \
         "}}\n" POD("p", "", ", ownerReferences: [{kind: Middle, name: m, uid: mu}]")
    check(BOTH("labels: {kai.scheduler/preemptibility: non-preemptible}",
               "labels: {kai.scheduler/preemptibility: preemptible}"),
          "pg-t-tu 50! default-queue root(-1) default(1) p=default\n");
    struct import_world world;
    assert_true(import_world_read(&world,
                                  BOTH("annotations: {kai.scheduler/preemption-delay: 2m}",
                                       "annotations: {kai.scheduler/preemption-delay: 1h, "
                                       "kai.scheduler/staleness-grace-period: 3s}"),
                                  NULL));
    assert_int_equal(world.model.jobs[0].preemption_delay, 120000);
    assert_int_equal(world.model.jobs[0].staleness_grace, 3000);
    import_world_release(&world);
}

static void cron_job__lends_nothing(void **state)
{
    (void)state;
    check(LIST "- {kind: CronJob, metadata: {name: c, uid: cu, labels: {kai.scheduler/queue: q7, "
               "priorityClassName: build}}}\n"
               "- {kind: Job, metadata: {name: o, uid: u, ownerReferences: [{kind: CronJob, name: "
               "c, uid: cu}]}}\n" POD("p", "", OWNED("Job")),
          "pg-o-u 50 default-queue root(-1) default(1) p=default\n");
}

static void workflow__fills_the_gaps_of_its_pods(void **state)
{
    (void)state;
    check(LIST OWNER("Workflow", ", labels: {kai.scheduler/queue: q7, priorityClassName: build}}}")
              POD("p", "kai.scheduler/queue: q2", OWNED("Workflow")),
          "pg-p-p-uid 100! q2 root(-1) default(1) p=default\n");
}

static void group__first_pod_gives_the_queue_last_the_rest(void **state)
{
    (void)state;
    check(LIST OWNER("Job", "}}") POD("p", "kai.scheduler/queue: q1", OWNED("Job"))
              POD("q", "kai.scheduler/queue: q2, priorityClassName: build", OWNED("Job")),
          "pg-o-u 100! q1 root(-1) default(1) p=default q=default\n");
}

static void owners__that_several_own_are_refused(void **state)
{
    (void)state;
    check(LIST "- {kind: A, metadata: {name: o, uid: u, ownerReferences: [{kind: B, name: b, uid: "
               "ub}, {kind: C, name: c, uid: uc}]}}\n" POD("p", "", OWNED("A")),
          "");
    check(LIST POD("p", "",
                   ", ownerReferences: [{kind: B, name: b, uid: ub}, {kind: C, name: c, uid: uc, "
                   "controller: true}]"),
          "pg-b-ub 50 default-queue root(-1) default(1) p=default\n");
}

static void labels__queue_priority_preemptibility(void **state)
{
    (void)state;
    check(LIST OWNER("Job", ", labels: {kai.scheduler/queue: q1, priorityClassName: inference, "
                            "kai.scheduler/preemptibility: preemptible}}}")
              POD("p", "kai.scheduler/queue: q2, priorityClassName: build", OWNED("Job")),
          "pg-o-u 125 q1 root(-1) default(1) p=default\n");
    check(LIST OWNER("Job", "}}")
              POD("p", "kai.scheduler/queue: q2, priorityClassName: build", OWNED("Job")),
          "pg-o-u 100! q2 root(-1) default(1) p=default\n");
    /* A label that names no class hides the pod's. */
    check(LIST OWNER("Job", ", labels: {priorityClassName: none-such}}}")
              POD("p", "priorityClassName: build", OWNED("Job")),
          "pg-o-u 50 default-queue root(-1) default(1) p=default\n");
}

static void owners__in_a_circle_end(void **state)
{
    (void)state;
    check(LIST "- {kind: A, metadata: {name: a, uid: ua, ownerReferences: [{kind: B, name: b, uid: "
               "ub}]}}\n"
               "- {kind: B, metadata: {name: b, uid: ub, ownerReferences: [{kind: A, name: a, uid: "
               "ua}]}}\n" POD("p", "", ", ownerReferences: [{kind: A, name: a, uid: ua}]"),
          "pg-b-ub 50 default-queue root(-1) default(1) p=default\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(karta__is_said_not_to_be_heeded),
        cmocka_unit_test(kind_defaults__of_config_maps_are_said_not_to_be_read),
        cmocka_unit_test(pod__alone_is_a_group),
        cmocka_unit_test(job__one_group_of_minimum_one),
        cmocka_unit_test(cron_job__a_group_for_each_job),
        cmocka_unit_test(deployment__a_group_for_each_pod),
        cmocka_unit_test(deployment__is_told_from_the_name_of_a_missing_replica_set),
        cmocka_unit_test(default_kinds__one_group_an_owner),
        cmocka_unit_test(notebook__cannot_be_preempted),
        cmocka_unit_test(knative__a_group_for_each_revision),
        cmocka_unit_test(runai_job__after_the_name_of_its_pods),
        cmocka_unit_test(tf_job__all_replicas_or_what_its_policy_says),
        cmocka_unit_test(xgboost_job__needs_master_and_worker),
        cmocka_unit_test(jax_job__needs_a_worker),
        cmocka_unit_test(mpi_job__without_a_launcher_that_waits),
        cmocka_unit_test(pytorch_job__master_and_workers),
        cmocka_unit_test(pytorch_job__workers_in_segments),
        cmocka_unit_test(ray__head_and_worker_groups),
        cmocka_unit_test(ray__its_own_priority_label),
        cmocka_unit_test(leader_worker_set__a_group_for_each_index),
        cmocka_unit_test(leader_worker_set__workers_of_the_leader),
        cmocka_unit_test(leader_worker_set__leader_first),
        cmocka_unit_test(job_set__two_levels),
        cmocka_unit_test(grove__groups_of_its_gang),
        cmocka_unit_test(grove__levels_of_the_gang_then_of_the_set),
        cmocka_unit_test(spark__by_its_selector),
        cmocka_unit_test(spark__below_an_application_is_grouped_by_it),
        cmocka_unit_test(aml_job__nodes_from_its_spec),
        cmocka_unit_test(spot_request__inference),
        cmocka_unit_test(wrappers__are_looked_through),
        cmocka_unit_test(kinds__of_other_groups_are_unknown),
        cmocka_unit_test(skipped__if_the_pod_or_an_owner_says_so),
        cmocka_unit_test(pod_group__that_is_not_given),
        cmocka_unit_test(default_rule__looks_from_the_pod_up),
        cmocka_unit_test(cron_job__lends_nothing),
        cmocka_unit_test(workflow__fills_the_gaps_of_its_pods),
        cmocka_unit_test(group__first_pod_gives_the_queue_last_the_rest),
        cmocka_unit_test(owners__that_several_own_are_refused),
        cmocka_unit_test(labels__queue_priority_preemptibility),
        cmocka_unit_test(owners__in_a_circle_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
