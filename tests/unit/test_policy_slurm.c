/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm: priorities that sprio printed, fair shares that sshare printed,
 * Slurm's words, and faults of a configuration. Starts and nodes are in
 * tests/slurm. */
#include "policy_fixture.h"

#include <math.h>

#include <orrery/policies/registry.h>
#include <orrery/policies/slurm_hosts.h>

#include "../../policies/slurm/slurm_int.h"

static const char *const multifactor =
    "PriorityType=priority/"
    "multifactor\nPriorityWeightAge=1000\nPriorityWeightJobSize=1000\n"
    "PriorityWeightPartition=500\nPriorityWeightTRES=CPU=300\nPriorityMaxAge=0-"
    "0:04:00\n"
    "PartitionName=p Nodes=ALL Default=YES PriorityJobFactor=1\n"
    "PartitionName=q Nodes=ALL PriorityJobFactor=3\n";

/* The jobs of records 06a and 06b: nodes, tasks of one CPU, nice, and the
 * printed priorities. */
static const struct {
    const char *options;
    uint32_t tasks, partition;
    uint32_t large, small; /* PriorityFavorSmall NO, YES */
} printed[] = {{"--nodes=1", 4, 0, 491, 991},
               {"--nodes=2", 8, 0, 816, 816},
               {"--nodes=4", 16, 0, 1466, 466},
               {"--nodes=3", 12, 0, 1141, 641},
               {"--nodes=4 --nice=200", 16, 0, 1266, 266},
               {"--nodes=1", 1, 0, 341, 1029},
               {"--nodes=2 --partition=q", 3, 1, 900, 1212},
               {"--nodes=1 --nice=-37", 1, 0, 378, 1066}};
enum { PRINTED = sizeof printed / sizeof printed[0] };

static const char *options_of(void *self, uint32_t job)
{
    (void)self;
    return printed[job].options;
}

static void expect_printed(const char *favor_small)
{
    const struct orr_view_words words = {.options = options_of};
    const char *settings[] = {"slurm_conf", multifactor, "PriorityFavorSmall", favor_small, NULL};
    struct orr_node_type type = core_type(0, 0);
    struct fixture f;
    fixture_init(&f, 0, 0);
    type.allocatable.v[ORR_RES_CPU] = 4000;
    core_world_nodes(&f.world, 4, type);
    for (uint32_t j = 0; j < PRINTED; j++) {
        struct orr_request request = core_whole(0);
        request.cpu_milli = 1000;
        (void)fixture_job_of(&f, 0, printed[j].tasks, request, 60000);
    }
    fixture_open(&f, orr_policy_find("slurm"), settings);
    f.view.words = &words;
    fixture_events(&f);
    for (uint32_t j = 0; j < PRINTED; j++) {
        assert_int_equal(orr_slurm__priority(f.state, j, printed[j].partition),
                         strcmp(favor_small, "NO") == 0 ? printed[j].large : printed[j].small);
    }
    fixture_close(&f);
}

static void priorities__are_those_that_sprio_printed(void **state)
{
    (void)state;
    expect_printed("NO");
    expect_printed("YES");
}

static const char *const accounts =
    "Account|User|ParentName|Share\nroot|||1\nroot|root||1\na||root|50\na|u1||"
    "10\na|u2||20\n"
    "bb||root|30\nbb|u3||1\nbb|u4||1\ncc||root|20\ncc|u5||1\ncc|u6||2\n";

static void read_accounts(struct slurm_conf *conf, const char *table)
{
    struct slurm_params params;
    struct orr_err err = {0};
    orr_params_init(orr_slurm__rows, &params);
    params.sacctmgr = table;
    assert_int_equal(orr_slurm__conf_read(conf, &params, NULL, &err), ORR_OK);
}

static struct slurm_assoc *of_user(struct slurm_conf *conf, const char *user)
{
    return &conf->assocs[orr_slurm__assoc(conf, NULL, user)];
}

/* Usage of users; accounts have the sum of theirs. */
static void set_usage(struct slurm_conf *conf, const char *user, double usage)
{
    for (uint32_t a = orr_slurm__assoc(conf, NULL, user); a != ORR_NONE;
         a = conf->assocs[a].parent) {
        conf->assocs[a].usage += usage;
    }
}

static void fair_tree__ranks_users_by_the_shares_of_their_accounts_first(void **state)
{
    (void)state;
    static const struct {
        const char *user;
        double usage;
        int factor; /* of 10000, as printed */
    } users[] = {{"u1", 26, 7142}, {"u2", 7, 8571},  {"u3", 32, 4285},
                 {"u4", 0, 5714},  {"u5", 11, 1428}, {"u6", 11, 2857}};
    struct slurm_conf conf;
    read_accounts(&conf, accounts);
    for (int u = 0; u < 6; u++) {
        set_usage(&conf, users[u].user, users[u].usage);
    }
    orr_slurm__fair_tree(&conf);
    for (int u = 0; u < 6; u++) {
        assert_int_equal((int)(10000 * of_user(&conf, users[u].user)->fair_share), users[u].factor);
    }
    assert_true(of_user(&conf, "root")->fair_share >= 1);
    orr_slurm__conf_release(&conf);
}

/* x and y tie: y's first user takes the rank of x's last, and y's second one
 * goes on below. */
static void fair_tree__walks_tied_accounts_one_after_the_other(void **state)
{
    (void)state;
    struct slurm_conf conf;
    read_accounts(&conf, "Account|User|ParentName|Share\nroot|||1\nx||root|1\nx|a||1\nx|b||1\n"
                         "y||root|1\ny|c||1\ny|d||1\n");
    set_usage(&conf, "a", 1);
    set_usage(&conf, "b", 3);
    set_usage(&conf, "c", 1.5);
    set_usage(&conf, "d", 2.5);
    orr_slurm__fair_tree(&conf);
    assert_true(of_user(&conf, "a")->fair_share >= 1);
    assert_int_equal((int)(4 * of_user(&conf, "b")->fair_share), 3);
    assert_int_equal((int)(4 * of_user(&conf, "c")->fair_share), 3);
    assert_int_equal((int)(4 * of_user(&conf, "d")->fair_share), 1);
    orr_slurm__conf_release(&conf);
}

struct printed {
    const char *user;
    double usage, factor;
};

/* Of the classic algorithm, with these flags besides. */
static void expect_factors(uint32_t flags, const struct printed *users, int count)
{
    struct slurm_conf conf;
    read_accounts(&conf, accounts);
    conf.priority_flags |= flags;
    for (int u = 0; u < count; u++) {
        set_usage(&conf, users[u].user, users[u].usage);
    }
    orr_slurm__classic(&conf, false);
    orr_slurm__classic(&conf, true);
    for (int u = 0; u < count; u++) {
        assert_true(fabs(of_user(&conf, users[u].user)->fair_share - users[u].factor) < 3e-6);
    }
    orr_slurm__conf_release(&conf);
}

static void classic__is_what_sshare_printed(void **state)
{
    (void)state;
    static const struct printed users[] = {{"u1", 0.282355, 0.272168}, {"u2", 0.082357, 0.566482},
                                           {"u3", 0.376461, 0.172559}, {"u4", 0, 0.415402},
                                           {"u5", 0.129414, 0.163328}, {"u6", 0.129414, 0.322228}};
    expect_factors(0, users, 6);
}

/* Worked out from its definition, of the same usage. */
static void depth_oblivious__bends_the_level_towards_the_account(void **state)
{
    (void)state;
    static const struct printed users[] = {{"u1", 0.282355, 0.518147}, {"u2", 0.082357, 0.841164},
                                           {"u3", 0.376461, 0.172559}, {"u4", 0, 1},
                                           {"u5", 0.129414, 0.256918}, {"u6", 0.129414, 0.441613}};
    expect_factors(SLURM_NO_FAIR_TREE | SLURM_DEPTH_OBLIVIOUS, users, 6);
}

/* p and q compete with account b, not within a: shares 10, 20, 30 of 60 and usage 10, 40, 50 of 100
 * are 1.67, 0.83, 1. z has no share and is the last of b though it used nothing. Classic: s of b
 * has the factor of b itself. */
static void shares_parent__lets_users_compete_a_level_higher(void **state)
{
    (void)state;
    static const char *const table =
        "Account|User|ParentName|Share|Priority\nroot|||1|\na||root|parent|\na|p||10|7\na|q||20|"
        "\nb||root|30|4\nb|r||1|\nb|z||0|0\nb|s||parent|\n";
    static const struct {
        const char *user;
        double usage;
        int rank;
        int64_t priority;
    } users[] = {{"p", 10, 5, 7}, {"s", 0, 4, 4}, {"r", 50, 3, 4}, {"z", 0, 2, 0}, {"q", 40, 1, 0}};
    struct slurm_conf conf;
    read_accounts(&conf, table);
    assert_true(conf.max_assoc_priority > 6.5 && conf.max_assoc_priority < 7.5);
    for (int u = 0; u < 5; u++) {
        set_usage(&conf, users[u].user, users[u].usage);
    }
    orr_slurm__fair_tree(&conf);
    for (int u = 0; u < 5; u++) {
        assert_int_equal((int)(5 * of_user(&conf, users[u].user)->fair_share + 0.5), users[u].rank);
        assert_int_equal(of_user(&conf, users[u].user)->priority, users[u].priority);
    }
    orr_slurm__classic(&conf, false);
    orr_slurm__classic(&conf, true);
    /* use by shares: 0.1 of 1/6, 0.4 of 1/3, 0.5 of 1/2 */
    assert_true(fabs(of_user(&conf, "p")->fair_share - pow(2, -0.6)) < 1e-9);
    assert_true(fabs(of_user(&conf, "q")->fair_share - pow(2, -1.2)) < 1e-9);
    assert_true(fabs(of_user(&conf, "s")->fair_share - 0.5) < 1e-9);
    orr_slurm__conf_release(&conf);
}

static bool collect(void *context, const char *name)
{
    (void)strcat(strcat(context, name), " ");
    return true;
}

static void words__are_read_as_slurm_writes_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        orr_ms ms;
    } times[] = {
        {"5", 300000},      {"2:30", 150000},    {"1:00:00", 3600000},      {"0-0:04:00", 240000},
        {"7-0", 604800000}, {"1-12", 129600000}, {"INFINITE", ORR_MS_NEVER}};
    orr_ms ms;
    for (size_t t = 0; t < sizeof times / sizeof times[0]; t++) {
        assert_true(orr_slurm__time(times[t].text, strlen(times[t].text), &ms));
        assert_true(ms == times[t].ms);
    }
    assert_false(orr_slurm__time("soon", 4, &ms));
    assert_false(orr_slurm__time("1:2:3:4", 7, &ms));
    char names[400] = "";
    static const char hosts[] = "n[1-2,07],m3,r[1-2]n[09-10]";
    assert_true(orr_slurm_hosts(hosts, strlen(hosts), collect, names));
    assert_string_equal(names, "n1 n2 n07 m3 r1n09 r1n10 r2n09 r2n10 ");
    assert_false(orr_slurm_hosts("n[1-", 4, collect, names));
    static const struct {
        const char *list;
        uint64_t count;
    } lists[] = {{hosts, 8},       {"n1,,n2,", 2},       {"r[1-100]n[1-100]", 10000},
                 {"[0-96:4]", 25}, {"n[3-1]", 0},        {"n[]", 0},
                 {"n1]", 0},       {"n[0-99999999]", 0}, {",", 0}};
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++) {
        const char *list = lists[l].list;
        assert_int_equal(orr_slurm_host_count(list, strlen(list)), lists[l].count);
        assert_true(lists[l].count > 1000 ||
                    orr_slurm_hosts(list, strlen(list), collect, names) == (lists[l].count > 0));
    }
}

static void expect_fault(const char *conf_text, const char *table, const char *text)
{
    const struct orr_policy *policy = orr_policy_find("slurm");
    struct slurm_params params;
    struct orr_err err = {0};
    orr_params_init(orr_slurm__rows, &params);
    params.slurm_conf = conf_text;
    params.sacctmgr = table;
    assert_int_equal(policy->check(&params, &err), ORR_DATA);
    assert_non_null(strstr(err.text, text));
}

static void faults__are_named_with_their_line(void **state)
{
    (void)state;
    expect_fault("#\nSchedulerParameters=bf_intervall=3", "", "slurm_conf:2:21: ");
    expect_fault("PriorityType=priority/multifactor \\\n PriorityWeightAge=\\\nx\n", "",
                 "slurm_conf:3:1: \"x\" is no weight");
    expect_fault("SchedulerParameters=bf_intervall=3", "", "did you mean bf_interval");
    expect_fault("PriorityMaxAge=never", "", "is no time");
    expect_fault("PriorityWeightTRES=CPU=1,cpus=2", "", "slurm_conf:1:26: \"cpus=2\" is of no");
    expect_fault("", "Name|GrpTRES\nnormal|cpu=4,mem=x\n", "sacctmgr:2:14: \"mem=x\" is no");
    expect_fault("PartitionName=p Nodes=n[1-\n", "", "is no list of nodes");
    expect_fault("PartitionName=p\nPartitionName=p", "", "is there already");
    expect_fault("PreemptMode=REQUEUE,PERHAPS", "", "slurm_conf:1:21: \"PERHAPS\" is no Preempt");
    expect_fault("PreemptMode=WITHIN", "", "is no PreemptMode of a cluster");
    expect_fault("PreemptMode=SUSPEND", "", "slurm_conf:1:13: \"SUSPEND\" needs GANG beside it");
    expect_fault("PartitionName=p PreemptMode=FOO", "", "slurm_conf:1:29: \"FOO\"");
    expect_fault("PartitionName=p State=AWAY", "", "slurm_conf:1:23: \"AWAY\" is not UP");
    expect_fault("PartitionName=p OverSubscribe=ALL", "", "slurm_conf:1:31: \"ALL\" is not NO");
    expect_fault("\nPartitionName=p QOS=big", "Name|Priority\nsmall|1\n",
                 "slurm_conf:2:21: \"big\" is a QOS that sacctmgr does not have");
    expect_fault("AccountingStorageEnforce=limit", "", "slurm_conf:1:26: \"limit\"");
    expect_fault("SelectTypeParameters=Core", "", "slurm_conf:1:22: \"Core\"");
    expect_fault("", "Name|PreemptMode\nsmall|sometimes\n", "sacctmgr:2:7: \"sometimes\"");
    expect_fault("", "root|||1\n", "names of columns");
    expect_fault("", "Account|User|ParentName|Share\nx||nobody|1\n", "no line before it");
    expect_fault("", "Cluster|Account|User|Share\nc|root||1\nc|root|u|1\nc|a||1\n",
                 "sacctmgr:4:3: \"a\" is a second account without a parent");
    expect_fault("", "Account|User|ParentName|Share\nroot|||many\n", "sacctmgr:2:8: \"many\"");
}

/* GPUs of a type are no resource of their own, and no further weight of all. */
static void weights_of_resources__are_not_added_up(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        double gpu, mem;
    } lists[] = {{"GRES/gpu=2,GRES/gpu:a100=3,Mem=1G", 2, 1.0 / 1024},
                 {"GRES/gpu:a100=3,GRES/gpu:t4=1,billing=7", 3, 0}};
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++) {
        struct slurm_params params;
        struct slurm_conf conf;
        struct orr_err err = {0};
        char text[100];
        (void)snprintf(text, sizeof text, "PriorityWeightTRES=%s", lists[l].list);
        orr_params_init(orr_slurm__rows, &params);
        params.slurm_conf = text;
        assert_int_equal(orr_slurm__conf_read(&conf, &params, NULL, &err), ORR_OK);
        assert_true(fabs(conf.weight_tres[SLURM_GPU] - lists[l].gpu) < 1e-9);
        assert_true(fabs(conf.weight_tres[SLURM_MEM] - lists[l].mem) < 1e-9);
        orr_slurm__conf_release(&conf);
    }
}

static void default_lines__say_what_the_partitions_behind_them_have(void **state)
{
    (void)state;
    struct fixture f;
    struct slurm_params params;
    struct slurm_conf conf;
    struct orr_err err = {0};
    fixture_init(&f, 2, 1);
    fixture_open(&f, orr_policy_find("slurm"), NULL);
    orr_params_init(orr_slurm__rows, &params);
    params.slurm_conf = "PartitionName=a Nodes=ALL\n"
                        "PartitionName=DEFAULT Nodes=ALL MaxTime=10 PriorityTier=3 GraceTime=40\n"
                        "PartitionName=b\nPartitionName=c MaxTime=20 Default=YES\n"
                        "PartitionName=default PriorityTier=4\nPartitionName=d Nodes=ALL\n";
    assert_int_equal(orr_slurm__conf_read(&conf, &params, &f.view, &err), ORR_OK);
    assert_int_equal(conf.partition_count, 4);
    assert_int_equal(conf.default_partition, 2);
    static const orr_ms max_min[] = {0, 10, 20, 10};
    static const int64_t tiers[] = {1, 3, 3, 4};
    for (uint32_t p = 0; p < 4; p++) {
        assert_int_equal(conf.partitions[p].max_time_ms,
                         p == 0 ? ORR_MS_NEVER : max_min[p] * 60000);
        assert_int_equal(conf.partitions[p].priority_tier, tiers[p]);
        assert_int_equal(conf.partitions[p].grace_ms, p == 0 ? 0 : 40000);
        assert_true(slurm_has(conf.partitions[p].nodes, 1));
        assert_int_equal(conf.partitions[p].node_count, 2);
    }
    orr_slurm__conf_release(&conf);
    fixture_close(&f);
}

/* Nodes that are down, or switches that a job would rather not share, are no reason to give it up.
 */
static void a_job_that_needs_a_node_that_is_down__starts_when_it_is_back(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 1);
    const uint32_t job = fixture_job(&f, 0, 2, 1, 1000);
    fixture_open(&f, orr_policy_find("slurm"), NULL);
    orr_ledger_set_down(f.ledger, 1, true);
    f.policy->node(f.state, &f.view, 1);
    fixture_events(&f);
    fixture_cycle(&f);
    assert_int_equal(f.view.jobs[job].phase, ORR_JOB_PENDING);
    orr_ledger_set_down(f.ledger, 1, false);
    f.policy->node(f.state, &f.view, 1);
    f.view.now = 60000;
    fixture_cycle(&f);
    assert_int_equal(f.view.jobs[job].phase, ORR_JOB_RUNNING);
    fixture_close(&f);
}

/* Ten halves need five of eight devices; while eight are taken they wait. */
static void parts_of_gpus__are_not_given_up_because_they_would_need_whole_ones(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 8);
    const uint32_t whole = fixture_job(&f, 0, 1, 8, 1000);
    const uint32_t halves = fixture_job_of(&f, 0, 10, core_fraction(1, 500), 1000);
    fixture_open(&f, orr_policy_find("slurm"), NULL);
    fixture_events(&f);
    fixture_cycle(&f);
    assert_int_equal(f.view.jobs[whole].phase, ORR_JOB_RUNNING);
    f.view.now = 1000;
    fixture_events(&f);
    fixture_cycle(&f);
    assert_int_equal(f.view.jobs[halves].phase, ORR_JOB_RUNNING);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priorities__are_those_that_sprio_printed),
        cmocka_unit_test(fair_tree__ranks_users_by_the_shares_of_their_accounts_first),
        cmocka_unit_test(fair_tree__walks_tied_accounts_one_after_the_other),
        cmocka_unit_test(classic__is_what_sshare_printed),
        cmocka_unit_test(depth_oblivious__bends_the_level_towards_the_account),
        cmocka_unit_test(shares_parent__lets_users_compete_a_level_higher),
        cmocka_unit_test(words__are_read_as_slurm_writes_them),
        cmocka_unit_test(faults__are_named_with_their_line),
        cmocka_unit_test(weights_of_resources__are_not_added_up),
        cmocka_unit_test(default_lines__say_what_the_partitions_behind_them_have),
        cmocka_unit_test(a_job_that_needs_a_node_that_is_down__starts_when_it_is_back),
        cmocka_unit_test(parts_of_gpus__are_not_given_up_because_they_would_need_whole_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
