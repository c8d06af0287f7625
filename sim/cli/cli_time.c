/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_time.c - times of a run's clock, as they are printed and as they are typed. */
#include <string.h>

#include <orrery/analysis/results.h>
#include <orrery/base/text.h>
#include <orrery/sim/study.h>

#include "cli.h"

static enum orr_status not_a_time(const char *option, const char *text, struct orr_err *err)
{
    return orr_fail(err, ORR_USAGE,
                    "%s: \"%s\" is not a time of the run's clock such as 2d3h, \"2d 03:00:00\", "
                    "5400 or 2026-06-01T12:00",
                    option, text);
}

/* `origin` is of a run that is called `run`. */
static enum orr_status read_time(const char *run, orr_ms origin, const char *option,
                                 const char *text, orr_ms *at, struct orr_err *err)
{
    orr_ms since_1970;
    if (orr_parse_clock(text, strlen(text), origin, at)) {
        return ORR_OK;
    }
    return orr_parse_clock(text, strlen(text), 0, &since_1970)
               ? orr_fail(err, ORR_USAGE,
                          "%s: \"%s\" is a date, and %s has no calendar: its times are from the "
                          "clock's 0 on, such as 2d3h",
                          option, text, run)
               : not_a_time(option, text, err);
}

enum orr_status orr_cli_time(const char *results, const char *option, const char *text, orr_ms *at,
                             struct orr_err *err)
{
    struct orr_results in;
    *at = ORR_MS_NONE;
    if (text == NULL) {
        return ORR_OK;
    }
    orr_results_open(&in, results, err);
    const enum orr_status status = in.status;
    const orr_ms origin = in.origin_ms;
    orr_results_close(&in);
    return status == ORR_OK ? read_time(results, origin, option, text, at, err) : status;
}

/* Where the run's clock begins: its scenario says so, or its trace, which is read for it. */
static enum orr_status origin_of(const struct orr_scenario_options *scenario,
                                 uint32_t allow_loss_ppm, orr_ms *origin, struct orr_err *err)
{
    const struct orr_point_options options = {.scenario = *scenario,
                                              .allow_loss_ppm = allow_loss_ppm,
                                              .interrupted = orr_interrupt_catch()};
    struct orr_point point;
    const enum orr_status status = orr_point_check(&options, &point, err);
    if (status == ORR_OK) {
        *origin = orr_world_clock_origin_ms(&point.world, &point.scenario);
    }
    orr_point_release(&point);
    return status;
}

enum orr_status orr_cli_time_to_come(const struct orr_scenario_options *scenario,
                                     uint32_t allow_loss_ppm, const char *option, const char *text,
                                     orr_ms *at, struct orr_err *err)
{
    orr_ms origin = ORR_MS_NONE;
    enum orr_status status = ORR_OK;
    *at = ORR_MS_NONE;
    if (text == NULL) {
        return ORR_OK;
    }
    const bool is_date = !orr_parse_clock(text, strlen(text), ORR_MS_NONE, at) &&
                         orr_parse_clock(text, strlen(text), 0, at);
    status = is_date ? origin_of(scenario, allow_loss_ppm, &origin, err) : ORR_OK;
    status = status == ORR_OK ? read_time("the run", origin, option, text, at, err) : status;
    return status == ORR_OK && *at < 0
               ? orr_fail(err, ORR_USAGE, "%s: \"%s\" is before the clock's 0", option, text)
               : status;
}
