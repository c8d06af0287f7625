/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cycles of Kueue on its own objects.
 *
 *   import_read_file     files -> documents
 *   import_kueue_read    documents -> objects by name
 *   orr_kq_open          -> what policy kueue decides on (sim/kueue)
 *   run_cycles           what each decides, by workload
 *   import_admission_tell   -> the answer, copied out by name
 */
#include <stdio.h>
#include <string.h>

#include "admission.h"

const char *const orr_admission_states[ORR_ADMISSION_STATES] = {
    [ORR_ADMISSION_ADMITTED] = "admitted", [ORR_ADMISSION_MOVED] = "moved",
    [ORR_ADMISSION_HOLDS] = "holds",       [ORR_ADMISSION_PREEMPTED] = "preempted",
    [ORR_ADMISSION_PENDING] = "pending",   [ORR_ADMISSION_FINISHED] = "finished"};

/* --- reading --- */

static enum orr_status read_objects(struct kueue_input *input,
                                    const struct orr_snapshot_options *options)
{
    struct import_load *load = input->load;
    const uint32_t count = options->text != NULL ? 1 : options->path_count;
    struct import_file **files =
        orr_arena_alloc(load->arena, count + (size_t)1, sizeof(struct import_file *));
    input->model->now = options->now;
    for (uint32_t f = 0; f < count; f++) {
        const enum orr_status status = import_read_file(load, options, f, &files[f]);
        if (status != ORR_OK) {
            return status;
        }
    }
    import_kueue_read(input, files, count);
    for (uint32_t i = 0; i < options->param_count && import_ok(load); i++) {
        const enum orr_status status = import_kueue_set(input, options->params[i], load->err);
        if (status != ORR_OK) {
            return status;
        }
    }
    if (import_ok(load) && input->objects.queue_count + input->objects.workload_count == 0) {
        return orr_fail(load->err, ORR_DATA, "%s: no ClusterQueue and no Workload is in it",
                        options->text != NULL ? "objects" : options->paths[0]);
    }
    return load->err->status;
}

/* --- cycles --- */

static bool take_decisions(struct admission_run *run, uint32_t cycle)
{
    uint32_t count;
    bool new = false;
    const struct orr_kueue_decision *decisions = orr_kueue_decisions(run->world.kueue, &count);
    for (uint32_t d = 0; d < count; d++) {
        struct admission_fate *fate = &run->fates[run->stated[decisions[d].workload]];
        const bool again = fate->cycle != 0 && fate->deed == ORR_KUEUE_EVICT &&
                           decisions[d].deed == ORR_KUEUE_EVICT;
        if (again) {
            continue; /* it is on its way out already */
        }
        new = true;
        fate->cycle = cycle;
        fate->deed = decisions[d].deed;
        fate->reason = decisions[d].reason;
        fate->by = decisions[d].deed == ORR_KUEUE_EVICT && decisions[d].by != ORR_NONE
                       ? run->stated[decisions[d].by]
                       : ORR_NONE;
    }
    return new;
}

/* A cycle that decides nothing, parks nobody and was there before will come again for ever. */
static bool was_seen(struct admission_run *run)
{
    const uint64_t print = orr_kueue_print(run->world.kueue);
    for (uint32_t i = 0; i < run->print_count; i++) {
        if (run->prints[i] == print) {
            return true;
        }
    }
    run->prints = ORR_ROOM_FOR_ONE(run->prints, run->print_count, run->print_capacity);
    run->prints[run->print_count++] = print;
    return false;
}

static void run_cycles(struct admission_run *run, int64_t cycles, struct orr_admission *out)
{
    struct kq_world *world = &run->world;
    while (!out->quiet && (cycles == ORR_ADMISSION_QUIET || out->cycles < cycles)) {
        if (orr_kueue_in_hand(world->kueue) != ORR_NONE ||
            !orr_kueue_cycle(world->kueue, out->now)) {
            out->quiet = true; /* nobody is left to look at, or may be before pods are ready */
            break;
        }
        out->cycles++;
        if (take_decisions(run, out->cycles) || orr_kueue_parked(world->kueue)) {
            run->print_count = 0;
        } else {
            out->quiet = was_seen(run);
        }
    }
}

static void open_run(struct admission_run *run)
{
    const uint32_t count = run->input->objects.workload_count;
    bool unready = false;
    orr_kq_add_workloads(&run->world);
    run->fates = orr_zalloc((size_t)count + 1, sizeof *run->fates);
    run->stated = orr_zalloc((size_t)count + 1, sizeof *run->stated);
    for (uint32_t i = 0; i < count; i++) {
        run->fates[i].by = ORR_NONE;
        if (run->world.ids[i] != ORR_NONE) {
            run->stated[run->world.ids[i]] = i;
            run->fates[i].held = orr_kueue_holds(run->world.kueue, run->world.ids[i]);
            unready = unready || (run->fates[i].held && !run->input->objects.workloads[i].is_ready);
        }
    }
    orr_kueue_block(run->world.kueue, run->input->objects.config.block_admission && unready);
}

static enum orr_status decide(struct kueue_input *input, const struct orr_snapshot_options *options,
                              int64_t cycles, struct orr_admission *out)
{
    struct admission_run run = {.input = input};
    enum orr_status status = read_objects(input, options);
    if (status != ORR_OK) {
        return status;
    }
    out->now = input->model->now;
    if (orr_kq_open(&run.world, &input->objects)) {
        open_run(&run);
        run_cycles(&run, cycles, out);
        import_admission_tell(&run, out);
    } else {
        status =
            orr_fail(input->load->err, ORR_DATA,
                     "too large: resources may be up to %d, queues times flavors times resources "
                     "up to %d",
                     KQ_RESOURCES_MAX, KQ_CELLS_MAX);
    }
    orr_kq_close(&run.world);
    orr_free(run.fates);
    orr_free(run.stated);
    orr_free(run.prints);
    return status;
}

enum orr_status orr_admission_run(const struct orr_snapshot_options *options, int64_t cycles,
                                  struct orr_admission *out, struct orr_err *err)
{
    struct orr_err local = {0};
    struct orr_arena arena;
    struct import_load load = {.arena = &arena, .err = err != NULL ? err : &local};
    struct import_model model;
    *out = (struct orr_admission){0};
    orr_arena_init(&out->arena);
    orr_arena_init(&arena);
    import_model_init(&model, &load);
    struct kueue_input input = {.model = &model, .load = &load};
    orr_idmap_init(&input.seen);
    orr_idmap_init(&input.local_queues);
    orr_idmap_init(&input.queues);
    orr_idmap_init(&input.classes);
    const enum orr_status status = decide(&input, options, cycles, out);
    import_kueue_release(&input);
    import_model_release(&model);
    orr_arena_release(&arena);
    return status;
}

void orr_admission_release(struct orr_admission *admission)
{
    orr_arena_release(&admission->arena);
}
