/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts that are generated, and templates: what is read, and what is refused where. */
#include "scenario_files.h"

#include <math.h>

#define PART(text) POOLS "horizon: 7d\nworkload:\n- name: w\n  generate: " text "\n"
#define RATE       "arrivals: {per_hour: 2}"

static void generate__is_read(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(PART("{sizes: {8: 1, 16: 0.5}, users: 4, queues: {b: 1, a: 3}, batch: 2,\n"
                   "    arrivals: {pattern: office-hours, tz: \"+09:00\", per_user_day: 1.5},\n"
                   "    duration: {lognormal: {median: 1h, p95: 4h}, max: 1d}, give_up: 15m}"),
              &s);
    const struct orr_scenario_generate *g = &s.parts[0].generate;
    assert_true(g->given && g->duration.given);
    assert_int_equal(g->size_count, 2);
    assert_string_equal(g->queues[0].name, "a"); /* by name, however it is written */
    assert_true(fabs(g->queues[0].weight - 3.0) < 1e-9);
    assert_int_equal(g->users, 4);
    assert_int_equal(g->batch, 2);
    assert_string_equal(g->pattern, "office-hours");
    assert_int_equal(g->duration.median_ms, 3600000);
    assert_int_equal(g->duration.p95_ms, 14400000);
    assert_true(g->duration.p90_ms == ORR_MS_NONE && g->duration.fixed_ms == ORR_MS_NONE);
    assert_int_equal(g->give_up_ms, 900000);
    assert_true(s.parts[0].trace == NULL);
    assert_string_equal(s.parts[0].label, "w");
    orr_scenario_release(&s);
}

#define SERVICE(text)                                                                              \
    POOLS "horizon: 7d\nworkload:\n- name: w\n  objective: {served_within: 2s}\n  service: " text  \
          "\n"

static void services__are_read(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good(
        SERVICE("{pods: 2, gpus_per_pod: 4, replicas: 2..8, rate: r.csv, service_time: 1.5s}"), &s);
    const struct orr_scenario_service *service = &s.parts[0].service;
    assert_true(service->given);
    assert_int_equal(service->pods.pods, 2);
    assert_int_equal(service->min_replicas, 2);
    assert_int_equal(service->max_replicas, 8);
    assert_string_equal(service->rate_file, "r.csv");
    assert_true(fabs(service->rate_scale - 1.0) < 1e-9 && fabs(service->utilisation - 0.7) < 1e-9);
    assert_int_equal(service->scale_interval_ms, 15000);
    assert_int_equal(s.parts[0].objective.served_within_ms, 2000);
    orr_scenario_release(&s);
}

static void templates__are_read(void **state)
{
    (void)state;
    struct orr_scenario s;
    load_good("templates:\n"
              "  llm: {pods: 64, gpus_per_pod: 8, topology: {required: block}, checkpoint: 30m}\n"
              "  ray: {roles: {head: {cpu: 8}, worker: {pods: 32, min: 8, gpus_per_pod: 1}}}\n"
              "  share: {gpu_fraction: 0.5, busy: 0.15, preemptible: true}\n" POOLS WORKLOAD,
              &s);
    assert_int_equal(s.template_count, 3);
    assert_int_equal(s.templates[0].pods.gpus, 8);
    assert_int_equal(s.templates[0].pods.pods, 64);
    assert_string_equal(s.templates[0].topology_required, "block");
    assert_int_equal(s.templates[0].checkpoint_ms, 1800000);
    assert_true(s.templates[0].restart_ms == ORR_MS_NONE);
    assert_int_equal(s.templates[1].role_count, 2);
    assert_string_equal(s.templates[1].roles[1].name, "worker");
    assert_int_equal(s.templates[1].roles[1].pods.min_pods, 8);
    assert_int_equal(s.templates[1].roles[0].pods.cpu_milli, 8000);
    assert_true(fabs(s.templates[2].pods.gpu_fraction - 0.5) < 1e-9);
    assert_string_equal(s.templates[2].preemptible, "true");
    orr_scenario_release(&s);
}

/* The canonical text says the same again, and says nothing of what nobody wrote. */
static void resolved_text__stands_alone(void **state)
{
    (void)state;
    struct orr_scenario first, second;
    load_good("templates: {t: {roles: {a: {pods: 2}}}}\n" PART(
                  "{template: t, " RATE ", duration: {quantiles: {p50: 1h, p0: 1m, p99.9: 2d}}}"),
              &first);
    assert_null(strstr(first.resolved_yaml, "objective"));
    assert_null(strstr(first.resolved_yaml, "weibull"));
    struct orr_scenario_options options = {.text = first.resolved_yaml,
                                           .text_bytes = strlen(first.resolved_yaml)};
    struct orr_err err = {0};
    assert_int_equal(orr_scenario_load(&options, &second, &err), ORR_OK);
    assert_string_equal(first.resolved_yaml, second.resolved_yaml);
    const struct orr_scenario_spread *spread = &second.parts[0].generate.duration;
    assert_int_equal(spread->quantile_count, 3);
    assert_int_equal(spread->quantiles[0].value_ms, 60000);
    assert_true(fabs(spread->quantiles[2].p - 0.999) < 1e-12);
    orr_scenario_release(&first);
    orr_scenario_release(&second);
}

static void files__are_found_from_the_file_that_names_them(void **state)
{
    (void)state;
    struct orr_scenario s;
    (void)mkdir("below", 0777);
    write_file("below/base.yaml",
               PART("{sizes: {8: 1}, " RATE ", duration: {empirical: runs.csv}}"));
    load_good("extends: below/base.yaml\n", &s);
    assert_string_equal(s.parts[0].generate.duration.empirical, "below/runs.csv");
    orr_scenario_release(&s);
}

static void paths__reach_what_is_written(void **state)
{
    (void)state;
    static const char *const sets[] = {"workload.w.generate.arrivals.per_hour*=3",
                                       "workload.w.generate.duration.lognormal.median=2h"};
    struct orr_scenario_options options = {.sets = sets, .set_count = 2};
    struct orr_scenario s;
    struct orr_err err;
    const char *text =
        PART("{sizes: {8: 1}, " RATE ", duration: {lognormal: {median: 1h, sigma: 1.5}}}");
    assert_int_equal(load_with(options, text, &s, &err), ORR_OK);
    assert_true(fabs(s.parts[0].generate.per_hour - 6.0) < 1e-9);
    assert_int_equal(s.parts[0].generate.duration.median_ms, 7200000);
    orr_scenario_release(&s);
    static const char *const absent[] = {"workload.w.objective.share=0.9"};
    options = (struct orr_scenario_options){.sets = absent, .set_count = 1};
    assert_int_equal(load_with(options, text, &s, &err), ORR_SCENARIO);
    assert_non_null(strstr(err.text, "says nothing of \"objective\""));
}

/* The first line of the error for a part. */
static void part_error(const char *text, const char *expected)
{
    struct orr_scenario s;
    struct orr_err err;
    assert_int_equal(load_with((struct orr_scenario_options){0}, text, &s, &err), ORR_SCENARIO);
    err.text[strcspn(err.text, "\n")] = '\0';
    assert_string_equal(err.text, expected);
}

static void errors__show_the_place(void **state)
{
    (void)state;
    part_error(PART("{" RATE "}"),
               "first.yaml:5:13: generate: needs one of template, templates, sizes, classes");
    part_error(PART("{sizes: {8: 1}, arrivals: {per_hour: 1, per_day: 2}}"),
               "first.yaml:5:39: arrivals: needs one of per_hour, per_day, per_user_day, cron");
    part_error(PART("{sizes: {8: 1}}"),
               "arrivals: needs one of per_hour, per_day, per_user_day, cron");
    part_error(PART("{sizes: {8: 1}, arrivals: {cron: \"0 3 * * *\", per_day: 3}}"),
               "first.yaml:5:39: arrivals: needs one of per_hour, per_day, per_user_day, cron");
    part_error(PART("{sizes: {8: 1}, arrivals: {cron: \"0 3 * * *\", pattern: office-hours}}"),
               "first.yaml:5:39: arrivals: cron says when; hours, days and pattern are for rates");
    part_error(PART("{classes: model.csv, users: 3}"),
               "first.yaml:5:13: generate: classes say queues, users, duration, session, batch and "
               "rates of "
               "arrivals themselves (scale.arrivals makes more or fewer of them)");
    part_error(PART("{sizes: {8: 1}, arrivals: {per_user_day: 1}}"),
               "first.yaml:5:54: per_user_day: needs users");
    part_error(PART("{sizes: {eight: 1}, " RATE "}"),
               "first.yaml:5:22: sizes: \"eight\" is not a number of GPUs");
    part_error(PART("{sizes: {8: many}, " RATE "}"),
               "first.yaml:5:25: 8: \"many\" is not a weight");
    part_error(PART("{sizes: {8: 0}, " RATE "}"), "first.yaml:5:21: sizes: no weight is above 0");
    part_error(PART("{sizes: {8: 1}, arrivals: {per_hour: 1, hours: [1, 2]}}"),
               "first.yaml:5:60: hours: expected 24 weights, found 2");
    part_error(PART("{sizes: {8: 1}, " RATE ", duration: {max: 1h}}"),
               "first.yaml:5:64: duration: needs one of fixed, uniform, exponential, lognormal, "
               "weibull, quantiles, empirical");
    part_error(PART("{sizes: {8: 1}, " RATE ", duration: {lognormal: {median: 1h}}}"),
               "first.yaml:5:76: lognormal: needs one of sigma, mean, p90, p95, p99 beside its "
               "median");
    part_error(PART("{sizes: {8: 1}, " RATE ", duration: {lognormal: {median: 1h, p90: 30m}}}"),
               "first.yaml:5:76: lognormal: p90 must be above the median");
    part_error(PART("{sizes: {8: 1}, " RATE ", duration: {quantiles: {p50: 2h, p90: 1h}}}"),
               "first.yaml:5:76: quantiles: times must rise with their quantiles");
    part_error(PART("{sizes: {8: 1}, " RATE ", duration: {quantiles: {half: 2h}}}"),
               "first.yaml:5:77: quantiles: \"half\" is not a quantile such as p50");
    part_error(PART("{sizes: {8: 1}, " RATE ", from: 8d}"),
               "first.yaml:5:13: generate: it ends before it begins");
    part_error(POOLS "workload:\n- name: w\n  generate: {sizes: {8: 1}, " RATE "}\n",
               "first.yaml:4:13: generate: when does it end? Give it until, or the scenario a "
               "horizon");
    part_error(POOLS "workload:\n- {name: w, trace: t.csv, generate: {sizes: {8: 1}, " RATE "}}\n",
               "first.yaml:3:3: part \"w\" needs one of trace, generate, service");
    part_error(POOLS "workload:\n- {name: w, trace: t.csv, objective: {share: 0.5}}\n",
               "first.yaml:3:38: objective: needs start_within or served_within");
    part_error(SERVICE("{replicas: 2..8, rate: r.csv, service_time: 3s}"),
               "first.yaml:6:12: service: a request takes longer than its objective allows");
    part_error(SERVICE("{replicas: 8..2, rate: r.csv, service_time: 1s}"),
               "first.yaml:6:23: replicas: \"8..2\" is not a count such as 8 or a range such as "
               "8..48");
    part_error(SERVICE("{replicas: 2, rate: {scale: 2}, service_time: 1s}"),
               "first.yaml:6:26: rate: \"file\" is missing");
    part_error("templates: {t: {gpus_per_pod: 1, gpu_fraction: 0.5}}\n" POOLS WORKLOAD,
               "first.yaml:1:16: t: only one of gpus_per_pod, gpu_fraction, gpu_memory and "
               "mig_profile says "
               "what its pods ask");
    part_error("templates: {t: {pods: 2, min: 3}}\n" POOLS WORKLOAD,
               "first.yaml:1:31: min: 3 of 2 pods");
}

static int enter(void **state)
{
    (void)state;
    enter_folder("scenario-work");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generate__is_read),
        cmocka_unit_test(templates__are_read),
        cmocka_unit_test(services__are_read),
        cmocka_unit_test(resolved_text__stands_alone),
        cmocka_unit_test(files__are_found_from_the_file_that_names_them),
        cmocka_unit_test(paths__reach_what_is_written),
        cmocka_unit_test(errors__show_the_place),
    };
    return cmocka_run_group_tests(tests, enter, NULL);
}
