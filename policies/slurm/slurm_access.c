/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurm_access.c - who may use what: accounts and QOS that a partition takes, partitions that take
 * nothing and the ones that jobs go to instead, QOS that the jobs of an association may have.
 *
 * Where a list names who may, the list of who may not is not looked at. A job that a partition does
 * not take waits there, or is refused at submit as EnforcePartLimits says. */
#include <stdio.h>
#include <string.h>

#include "slurm_conf_int.h"

bool orr_slurm__is_named(const char *names, const char *name)
{
    struct slurm_span list = {names, strlen(names)}, item;
    while (orr_slurm__next_item(&list, &item)) {
        if (orr_slurm__is(item, name)) {
            return true;
        }
    }
    return false;
}

/* Who has no name, as it is not known, may use what anybody may. */
static bool is_let_in(const struct slurm_names *allow, const struct slurm_names *deny,
                      const char *name)
{
    if (allow->names != NULL) {
        return name != NULL && orr_slurm__is_named(allow->names, name);
    }
    return deny->names == NULL || name == NULL || !orr_slurm__is_named(deny->names, name);
}

/* --- jobs --- */

void orr_slurm__read_access(const struct slurm_conf *conf, struct slurm_job *job)
{
    const char *account = job->assoc == ORR_NONE ? NULL : conf->assocs[job->assoc].account;
    const char *qos = job->qos == ORR_NONE ? NULL : conf->qos[job->qos].name;
    for (uint32_t i = 0; i < job->partition_count; i++) {
        const struct slurm_partition *p = &conf->partitions[job->partitions[i]];
        const uint64_t bit = (uint64_t)1 << job->partitions[i];
        job->account_barred |= is_let_in(&p->allow_accounts, &p->deny_accounts, account) ? 0 : bit;
        job->qos_barred |=
            conf->qos_count == 0 || is_let_in(&p->allow_qos, &p->deny_qos, qos) ? 0 : bit;
    }
}

/* The partition that a job of this one goes to: itself, unless it takes none. ORR_NONE: none. */
static uint32_t taker_of(const struct slurm_conf *conf, uint32_t partition)
{
    uint32_t at = partition;
    for (uint32_t turns = 0; turns < conf->partition_count && at != ORR_NONE; turns++) {
        const struct slurm_partition *p = &conf->partitions[at];
        if (!p->takes_none) {
            return at;
        }
        at = p->alternate == NULL ? ORR_NONE
                                  : orr_slurm__partition(conf, p->alternate, strlen(p->alternate));
    }
    return ORR_NONE; /* they are alternates of each other */
}

void orr_slurm__take_alternates(const struct slurm_conf *conf, struct slurm_job *job)
{
    const uint8_t first = job->partitions[0];
    uint8_t kept = 0;
    for (uint32_t i = 0; i < job->partition_count; i++) {
        const uint32_t taker = taker_of(conf, job->partitions[i]);
        const bool there = kept > 0 && memchr(job->partitions, (int)(uint8_t)taker, kept) != NULL;
        if (taker != ORR_NONE && !there) {
            job->partitions[kept++] = (uint8_t)taker;
        }
    }
    job->none_takes = kept == 0;
    job->partitions[0] = kept == 0 ? first : job->partitions[0];
    job->partition_count = kept == 0 ? 1 : kept;
}

bool orr_slurm__may_have(const struct slurm_conf *conf, uint32_t assoc, uint32_t qos)
{
    return !conf->enforce_qos || assoc == ORR_NONE || qos == ORR_NONE ||
           conf->assocs[assoc].qos_bits == 0 || (conf->assocs[assoc].qos_bits >> qos & 1) != 0;
}

/* --- names that there are none of --- */

static bool is_account(const struct slurm_conf *conf, struct slurm_span name)
{
    bool found = false;
    for (uint32_t a = 0; a < conf->assoc_count && !found; a++) {
        found = orr_slurm__is(name, conf->assocs[a].account);
    }
    return found;
}

static void say_unknown(const struct slurm_reader *reader, const struct slurm_names *list,
                        bool of_qos)
{
    const struct slurm_conf *conf = reader->conf;
    struct slurm_span rest = {list->names == NULL ? "" : list->names,
                              list->names == NULL ? 0 : strlen(list->names)},
                      item;
    const bool no_table = of_qos && conf->qos_count == 0;
    while (orr_slurm__next_item(&rest, &item)) {
        char text[200 + SLURM_PLACE_BYTES];
        const bool known =
            of_qos ? orr_slurm__qos(conf, item.at, item.bytes) != ORR_NONE : is_account(conf, item);
        if (!known) {
            (void)snprintf(text, sizeof text, "slurm_conf%s: \"%.*s\" %s", list->place,
                           (int)(item.bytes < 80 ? item.bytes : 80), item.at,
                           no_table ? "is not heeded: sacctmgr has no table of QOS"
                           : of_qos ? "is a QOS that sacctmgr does not have"
                                    : "is an account that sacctmgr does not have");
            reader->passed->say(text, reader->passed->context);
        }
    }
}

void orr_slurm__look_at_access(const struct slurm_reader *reader,
                               const struct slurm_partition *partition)
{
    if (reader->passed == NULL) {
        return;
    }
    say_unknown(reader, &partition->allow_qos, true);
    say_unknown(reader, &partition->deny_qos, true);
    if (reader->conf->assoc_count > 0) { /* else the queues will be accounts */
        say_unknown(reader, &partition->allow_accounts, false);
        say_unknown(reader, &partition->deny_accounts, false);
    }
}
