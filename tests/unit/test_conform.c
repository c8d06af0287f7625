/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conformance files: KAI's fair-share vectors pass, every case is read, and errors have a place. */
#include "test_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <orrery/sim/conform.h>

#include "conform_int.h"

struct result {
    enum orr_status status;
    struct orr_conform_tally tally;
    struct orr_err err;
    char text[20000];
};

static void run(struct result *r, const char *path, bool verbose)
{
    FILE *out = tmpfile();
    assert_non_null(out);
    memset(r, 0, sizeof *r);
    struct orr_conform_text text = {.out = out, .verbose = verbose};
    r->status = orr_conform_run(&path, 1, NULL, orr_conform_print, &text, &r->tally, &r->err);
    if (r->status == ORR_OK) {
        orr_conform_print_tally(&r->tally, out);
    }
    rewind(out);
    size_t got = fread(r->text, 1, sizeof r->text - 1, out);
    r->text[got] = '\0';
    (void)fclose(out);
}

struct scratch {
    char folder[64];
};

static void scratch_open(struct scratch *s)
{
    strcpy(s->folder, "/tmp/orr-conform-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
}

static const char *scratch_path(const struct scratch *s, const char *name, char path[128])
{
    (void)snprintf(path, 128, "%s/%s", s->folder, name);
    return path;
}

static void scratch_write(const struct scratch *s, const char *name, const char *text)
{
    char path[128];
    FILE *file = fopen(scratch_path(s, name, path), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void scratch_remove(const struct scratch *s, const char *name)
{
    char path[128];
    assert_int_equal(remove(scratch_path(s, name, path)), 0);
}

/* Runs one file of the given text. */
static void run_text(struct result *r, const char *text)
{
    struct scratch s;
    char path[128];
    scratch_open(&s);
    scratch_write(&s, "x.json", text);
    run(r, scratch_path(&s, "x.json", path), true);
    scratch_remove(&s, "x.json");
    assert_int_equal(rmdir(s.folder), 0);
}

static void conform__all_fair_share_vectors_pass(void **state)
{
    (void)state;
    struct result r;
    run(&r, ORR_TEST_CASES "/kai/fairshare.json", false);
    assert_int_equal(r.status, ORR_OK);
    assert_string_equal(r.text, "47 passed, 0 failed, 0 skipped\n");
}

static void conform__all_cases_pass(void **state)
{
    (void)state;
    struct result r;
    run(&r, ORR_TEST_CASES "/kai", false);
    assert_string_equal(r.err.text, "");
    assert_int_equal(r.status, ORR_OK);
    assert_int_equal(r.tally.failed, 0);
    assert_int_equal(r.tally.passed, 47 + 228);
}

#define QUEUE(request)                                                                             \
    "{\"uid\":\"u\",\"priority\":1,\"created_s\":null,\"gpu\":{\"deserved\":0,"                    \
    "\"over_quota_weight\":1,\"max_allowed\":-1,\"request\":" request "}}"
#define VECTOR(id, share, left)                                                                    \
    "{\"id\":\"" id "\",\"function\":\"setResourceShare\",\"queues\":{\"q\":" QUEUE(               \
        "2") "},\"calls\":[{\"id\":0,\"function\":\"setResourceShare\",\"args\":{\"totalAmount\":" \
             "3,"                                                                                  \
             "\"kValue\":0,\"resourceName\":\"GPU\"}}],\"expected_fair_share\":{\"q\":{"           \
             "\"gpu\":" share "}},\"expected_results\":{\"0\":" left "}}"

static void conform__says_what_differs(void **state)
{
    (void)state;
    struct result r;
    run_text(&r,
             "[" VECTOR("a", "2", "1") "," VECTOR("b\\nc", "1", "1") "," VECTOR("d", "2", "0") "]");
    assert_int_equal(r.status, ORR_OK);
    assert_string_equal(r.text, "pass a\n"
                                "FAIL b c: queue q, gpu: expected 1, got 2\n"
                                "FAIL d: call 0: expected 0 left, got 1\n"
                                "1 passed, 2 failed, 0 skipped\n");
    run_text(&r, "[]");
    assert_string_equal(r.text, "0 passed, 0 failed, 0 skipped\n");
}

static void conform__skips_a_function_it_does_not_know(void **state)
{
    (void)state;
    struct result r;
    run_text(&r, "[{\"id\":\"a\",\"function\":\"other\",\"queues\":{}}]");
    assert_string_equal(r.text, "skip a: function other\n0 passed, 0 failed, 1 skipped\n");
}

static void conform__errors_have_a_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"", "x.json:1:1: not JSON"},
        {"[1,2", "x.json:1:5: not JSON: the file ends too soon, before the } or ]"},
        {"[1,\n {\"a\\\"", "x.json:2:7: not JSON: the file ends too soon, within a string"},
        {"[{\"a\": [1,2}", "x.json:1:12: not JSON: mismatched flow mapping end"},
        {"[1]\n[2]", "x.json:2:1: not JSON"},
        {"{}", "x.json:1:1: a list of cases belongs here"},
        {"[\n 12]", "x.json:2:2: a case (an object) belongs here"},
        {"[{\"function\":\"f\",\n  \"id\":3}]", "x.json:2:8: a string belongs here"},
        {"[{\"function\":\"f\",\"id\":\"a\"}]", "x.json:1:2: a fair-share vector needs the key "
                                                "\"queues\""},
        {"[{\"function\":\"f\",\n\"quues\":{}}]",
         "x.json:2:1: a fair-share vector has no key \"quues\"; did you mean \"queues\"?"},
        {"[{\"function\":\"f\",\"id\":\"a\",\"queues\":\n [] }]",
         "x.json:2:2: an object belongs here"},
        {"[{\"function\":\"f\",\"id\":\"a\",\"queues\":{},\"k\":\"1\"}]",
         "x.json:1:43: a number belongs here"},
        {"[{\"function\":\"f\",\"id\":\"a\",\"queues\":{},\"k\":true}]",
         "x.json:1:43: a number belongs here"},
        {"[{\"function\":\"f\",\"id\":\"a\\u0000b\",\"queues\":{}}]",
         "x.json:1:23: a string must not contain \\u0000"},
        {"[{\"plain\":true,\"mode\":\"twice\"}]", "x.json:1:23: \"twice\" is not a known word"},
        {"[{\"plain\":true,\"jobs\":[{\"tasks\":[{\"id\":\"a\",\"state\":\"Done\"}]}]}]",
         "\"Done\" is not a known word here"},
        {"[{\"plain\":true,\"jobs\":[{\"build_index\":1.5}]}]", "a whole number belongs here"},
        {"[{\"plain\":1}]", "x.json:1:11: true or false belongs here"},
        {"[{\"plain\":true,\"config\":{\"plugins\":\"all\"}}]", "plugins are \"default\" or an"},
        {"[{\"plain\":true,\"nodes\":{\"n\":{\"gpu\":1}}}]", "a node needs the key \"gpus\""},
        {"[{\"plain\":true,\"id\":\"a\",\"id\":\"b\"}]", "duplicate key"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct result r;
        run_text(&r, rows[i].text);
        if (r.status != ORR_DATA || strstr(r.err.text, rows[i].want) == NULL || r.text[0] != '\0') {
            fail_msg("%s\ngave \"%s\"\ninstead of \"%s\"", rows[i].text, r.err.text, rows[i].want);
        }
        assert_int_equal(orr_status_exit_code(r.status), 65);
    }
}

static void conform__missing_input_is_told(void **state)
{
    (void)state;
    struct result r;
    run(&r, ORR_TEST_CASES "/absent.json", false);
    assert_int_equal(r.status, ORR_NO_INPUT);
    struct scratch s;
    scratch_open(&s);
    run(&r, s.folder, false);
    assert_int_equal(r.status, ORR_NO_INPUT);
    assert_non_null(strstr(r.err.text, "no *.json file"));
    assert_int_equal(rmdir(s.folder), 0);
}

static void conform__folders_are_walked_by_name(void **state)
{
    (void)state;
    struct scratch s;
    struct result r;
    char path[128];
    scratch_open(&s);
    scratch_write(&s, "z.json", "[" VECTOR("last", "2", "1") "]");
    scratch_write(&s, "a.json", "[" VECTOR("first", "2", "1") "]");
    scratch_write(&s, "notes.txt", "not a case");
    assert_int_equal(mkdir(scratch_path(&s, "m", path), 0700), 0);
    scratch_write(&s, "m/x.json", "[" VECTOR("middle", "2", "1") "]");
    run(&r, s.folder, true);
    assert_string_equal(r.text, "pass first\npass middle\npass last\n"
                                "3 passed, 0 failed, 0 skipped\n");
    scratch_remove(&s, "m/x.json");
    scratch_remove(&s, "m");
    scratch_remove(&s, "notes.txt");
    scratch_remove(&s, "a.json");
    scratch_remove(&s, "z.json");
    assert_int_equal(rmdir(s.folder), 0);
}

/* Keys of features beyond the plain model are kept, and are an error in a plain case. */
#define CASE(plain)                                                                                \
    "[{\"id\":\"c\",\"mode\":\"rounds\",\"rounds\":{\"until_match\":3,\"after_match\":0},"         \
    "\"actions\":[\"allocate\"],\"config\":{\"plugins\":{\"Tiers\":[{\"Plugins\":[{\"Name\":"      \
    "\"p\",\"Arguments\":{\"gpu\":\"spread\",\"n\":1}}]}]},\"fake_cache\":null},\"nodes\":{"       \
    "\"n0\":{\"gpus\":4,\"allocatable_gpus\":4,\"cpu_milli\":1e3,\"memory_bytes\":5,\"labels\":{"  \
    "\"zone\":\"z1\"},\"numa_topology\":{\"policy\":\"none\",\"zones\":[{\"gpus\":2},{}]}}},"      \
    "\"queues\":[],\"jobs\":[{\"name\":"                                                           \
    "\"j\",\"queue\":\"q\",\"build_index\":0,\"preemptible\":true,\"created_minutes_ago\":1,"      \
    "\"request_per_task\":{\"kind\":\"fraction\",\"gpu_fraction\":0.5,\"gpu_devices\":2},"         \
    "\"tasks\":[{\"id\":\"j-0\",\"state\":\"Running\",\"node\":\"n0\",\"gpu_groups\":[\"g\"],"     \
    "\"tea_times\":[\"v\"],\"name_unused\":1}],\"root\":{\"name\":\"\",\"min_sub_group\":1,"       \
    "\"pod_sets\":[],\"groups\":[{\"name\":\"g\",\"topology\":{\"topology\":\"t\"},"               \
    "\"pod_sets\":[{\"name\":\"ps\",\"min_available\":1,\"topology\":null}]}]}}],"                 \
    "\"expected\":{\"jobs\":{\"j\":{\"status\":\"Bound\",\"node\":null}},\"nodes\":{\"n0\":"       \
    "{\"idle_gpus\":2}}},\"plain\":" plain "}]"

static void check_case(const struct conform_case *c)
{
    assert_int_equal(c->mode, CONFORM_ROUNDS);
    assert_int_equal(c->rounds_until_match, 3);
    assert_int_equal(c->rounds_after_match, 5);
    assert_false(c->config.default_plugins);
    assert_int_equal(c->config.calls.max_binds, 0);
    const struct conform_plugin *plugin = &c->config.tiers[0].plugins[0];
    assert_string_equal(plugin->arguments[0].value, "spread");
    assert_string_equal(plugin->arguments[1].value, "1");
    assert_int_equal(c->node_count, 1);
    assert_string_equal(c->nodes[0].name, "n0");
    assert_true(c->nodes[0].cpu_milli == 1000);
    assert_int_equal(c->nodes[0].pods, 110);
    assert_string_equal(c->nodes[0].labels[0].value, "z1");
    assert_int_equal(c->nodes[0].numa->zone_count, 2);
    assert_true(c->nodes[0].numa->zones[0].gpus == 2);
    const struct conform_job *job = &c->jobs[0];
    assert_int_equal(job->request.kind, CONFORM_FRACTION);
    assert_true(job->request.gpu_fraction == .5);
    assert_int_equal(job->request.gpu_devices, 2);
    assert_false(conform_is_set(job->stale_for_s));
    assert_int_equal(job->tasks[0].state, CONFORM_STATE_Running);
    assert_int_equal(job->tasks[0].task_priority, CONFORM_NO_INT);
    assert_string_equal(job->tasks[0].gpu_groups[0], "g");
    assert_int_equal(job->root.min_sub_group, 1);
    assert_int_equal(job->root.groups[0].min_sub_group, CONFORM_NO_INT);
    assert_string_equal(job->root.groups[0].topology->topology, "t");
    assert_string_equal(job->root.groups[0].pod_sets[0].name, "ps");
    assert_null(job->root.groups[0].pod_sets[0].topology);
    assert_int_equal(c->expect_jobs[0].status, CONFORM_STATE_Bound);
    assert_string_equal(c->expect_jobs[0].name, "j");
    assert_null(c->expect_jobs[0].node);
    assert_true(c->expect_nodes[0].idle_gpus == 2);
    assert_false(conform_is_set(c->expect_nodes[0].releasing_gpus));
    assert_string_equal(c->extras->key, "tea_times");
    assert_string_equal(c->extras->json, "[\"v\"]");
    assert_null(c->extras->next);
}

static void conform__reads_every_part_of_a_case(void **state)
{
    (void)state;
    struct scratch s;
    char path[128];
    struct orr_arena arena;
    struct orr_err err = {0};
    struct conform_reader reader;
    struct conform_case c;
    orr_arena_init(&arena);
    scratch_open(&s);
    scratch_write(&s, "x.json", CASE("false"));
    struct fy_node *root =
        orr_conform__open(&reader, scratch_path(&s, "x.json", path), &arena, &err);
    assert_non_null(root);
    enum orr_status status =
        orr_conform__read_case(&reader, fy_node_sequence_get_by_index(root, 0), &c);
    assert_string_equal(err.text, "");
    assert_int_equal(status, ORR_OK);
    orr_conform__close(&reader);
    check_case(&c);
    orr_arena_release(&arena);
    scratch_remove(&s, "x.json");
    assert_int_equal(rmdir(s.folder), 0);
}

static void conform__a_case_with_an_unknown_key_is_skipped_by_itself(void **state)
{
    (void)state;
    struct result r;
    run_text(&r, CASE("true"));
    assert_int_equal(r.status, ORR_OK);
    assert_non_null(strstr(r.text, "skip c: "));
    assert_non_null(strstr(r.text, "x.json:1:"));
    assert_non_null(strstr(r.text, ": a task has no key \"tea_times\""));
    assert_non_null(strstr(r.text, "\n0 passed, 0 failed, 1 skipped\n"));
    run_text(&r, CASE("false"));
    assert_string_equal(r.text, "skip c: key \"tea_times\" of a task\n"
                                "0 passed, 0 failed, 1 skipped\n");
}

#define TWIN(name, minutes)                                                                        \
    "{\"name\":\"" name "\",\"queue\":\"q\",\"priority\":50,\"preemptible\":true,"                 \
    "\"created_minutes_ago\":" minutes ",\"build_index\":0,\"request_per_task\":{\"kind\":"        \
    "\"whole\",\"gpus\":1},\"tasks\":[{\"id\":\"" name minutes                                     \
    "\",\"state\":\"Pending\",\"node\":null}],\"root\":{\"name\":\"\",\"groups\":[],\"pod_sets\":" \
    "[{"                                                                                           \
    "\"name\":\"default\",\"min_available\":1}]}}"
#define TWINS(a, b)                                                                                \
    "[{\"id\":\"c\",\"mode\":\"single_session\",\"actions\":[],\"config\":{\"plugins\":"           \
    "\"default\"},\"nodes\":{},\"queues\":[],\"jobs\":[" TWIN(a, "1") "," TWIN(                    \
        b, "2") "],"                                                                               \
                "\"expected\":{},\"plain\":true}]"

static void conform__a_case_with_two_jobs_of_one_name_is_skipped_by_itself(void **state)
{
    (void)state;
    struct result r;
    run_text(&r, TWINS("a", "a"));
    assert_string_equal(r.text, "skip c: there are two jobs named \"a\"\n"
                                "0 passed, 0 failed, 1 skipped\n");
    run_text(&r, TWINS("a", "b"));
    assert_string_equal(r.text, "pass c\n1 passed, 0 failed, 0 skipped\n");
}

#define ZONES_OF(plain, topology)                                                                  \
    "[{\"id\":\"c\",\"mode\":\"single_session\",\"actions\":[],\"config\":{\"plugins\":"           \
    "\"default\"},"                                                                                \
    "\"nodes\":{\"n0\":{\"gpus\":4,\"allocatable_gpus\":4,\"cpu_milli\":1,\"memory_bytes\":5,"     \
    "\"numa_topology\":" topology "}},\"queues\":[],\"jobs\":[],\"expected\":{},\"plain\":" plain  \
    "}]"

static void conform__what_makes_no_sense_beyond_plain_cases_is_skipped(void **state)
{
    (void)state;
    struct result r;
    run_text(&r, ZONES_OF("true", "{\"policy\":\"none\",\"zones\":[{\"gpus\":2}]}"));
    assert_non_null(strstr(r.text, "1 passed, 0 failed, 0 skipped\n"));
    run_text(&r, ZONES_OF("true", "{\"policy\":\"tight\",\"zones\":[{\"gpus\":2}]}"));
    assert_int_equal(r.status, ORR_DATA);
    run_text(&r, ZONES_OF("false", "{\"policy\":\"tight\",\"zones\":[{\"gpus\":2}]}"));
    assert_int_equal(r.status, ORR_OK);
    assert_non_null(strstr(r.text, "skip c: "));
    assert_non_null(strstr(r.text, "0 passed, 0 failed, 1 skipped\n"));
    run_text(&r, ZONES_OF("true", "{\"policy\":\"none\",\"zones\":[]}"));
    assert_non_null(strstr(r.text, "0 passed, 0 failed, 1 skipped\n"));
}

#define TASK_WITH(key)                                                                             \
    "[{\"id\":\"c\",\"mode\":\"single_session\",\"actions\":[],\"config\":{\"plugins\":"           \
    "\"default\"},\"nodes\":{},\"queues\":[],\"jobs\":[{\"name\":\"j\",\"queue\":\"q\","           \
    "\"build_index\":0,\"preemptible\":true,\"created_minutes_ago\":1,\"request_per_task\":{"      \
    "\"kind\":\"cpu\"},\"tasks\":[{\"id\":\"j-0\",\"state\":\"Pending\"," key "}],\"root\":{"      \
    "\"name\":\"\"}}],\"expected\":{},\"features\":[\"drain\"],\"dra\":{},\"plain\":true}]"

static void conform__keys_of_kubernetes_are_known_in_plain_cases(void **state)
{
    (void)state;
    static const char *const empty[] = {
        TASK_WITH("\"pvc_names\":[]"), TASK_WITH("\"resource_claim_names\":null"),
        TASK_WITH("\"pod_affinity_labels\":{}"), TASK_WITH("\"annotations\":{\"a\":\"b\"}")};
    static const char *const stated[] = {TASK_WITH("\"pvc_names\":[\"v\"]"),
                                         TASK_WITH("\"resource_claim_templates\":{\"a\":\"b\"}"),
                                         TASK_WITH("\"pod_affinity_names\":[\"p\"]")};
    struct result r;
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        run_text(&r, empty[i]);
        assert_string_equal(r.text, "pass c\n1 passed, 0 failed, 0 skipped\n");
    }
    for (size_t i = 0; i < sizeof stated / sizeof stated[0]; i++) {
        run_text(&r, stated[i]);
        assert_string_equal(r.text, "skip c: claims, volumes or affinity of pods\n"
                                    "0 passed, 0 failed, 1 skipped\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conform__keys_of_kubernetes_are_known_in_plain_cases),
        cmocka_unit_test(conform__all_fair_share_vectors_pass),
        cmocka_unit_test(conform__all_cases_pass),
        cmocka_unit_test(conform__says_what_differs),
        cmocka_unit_test(conform__skips_a_function_it_does_not_know),
        cmocka_unit_test(conform__errors_have_a_place),
        cmocka_unit_test(conform__missing_input_is_told),
        cmocka_unit_test(conform__folders_are_walked_by_name),
        cmocka_unit_test(conform__reads_every_part_of_a_case),
        cmocka_unit_test(conform__a_case_with_an_unknown_key_is_skipped_by_itself),
        cmocka_unit_test(conform__a_case_with_two_jobs_of_one_name_is_skipped_by_itself),
        cmocka_unit_test(conform__what_makes_no_sense_beyond_plain_cases_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
