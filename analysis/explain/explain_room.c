/* SPDX-License-Identifier: GPL-3.0-or-later */
/* explain_room.c - GPUs that are up and free at a time, of all models and of each. */
#include "explain_int.h"

void orr_explain__room(struct orr_results *in, orr_ms at_ms, struct explain_room *room)
{
    *room = (struct explain_room){0};
    sqlite3_stmt *row = orr_explain__query(in, orr_explain_sql__room_at, &at_ms, 1);
    while (orr_results_step(in, row)) {
        const struct explain_model model = {.name = orr_explain__text(in, row, 0),
                                            .up_gpus = sqlite3_column_double(row, 1),
                                            .free_gpus = sqlite3_column_double(row, 2)};
        room->models = ORR_ROOM_FOR_ONE(room->models, room->count, room->capacity);
        room->models[room->count++] = model;
        room->up_gpus += model.up_gpus;
        room->free_gpus += model.free_gpus;
    }
}

void orr_explain__room_release(struct explain_room *room)
{
    orr_free(room->models);
}

void orr_explain__say_models(const struct explain_room *room, FILE *out)
{
    for (uint32_t m = 0; m < room->count && room->count > 1; m++) {
        const struct explain_model *model = &room->models[m];
        (void)fprintf(out, "%s %g of %g %s", m == 0 ? ":" : ",", model->free_gpus, model->up_gpus,
                      model->name != NULL ? model->name : "of no stated model");
    }
}

void orr_explain__json_room(const struct explain_room *room, struct orr_json *json)
{
    orr_json_real(json, "up_gpus", room->up_gpus);
    orr_json_real(json, "free_gpus", room->free_gpus);
    orr_json_open(json, "models", '[');
    for (uint32_t m = 0; m < room->count; m++) {
        orr_json_open(json, NULL, '{');
        orr_json_text(json, "gpu_model", room->models[m].name);
        orr_json_real(json, "up_gpus", room->models[m].up_gpus);
        orr_json_real(json, "free_gpus", room->models[m].free_gpus);
        orr_json_close(json, '}');
    }
    orr_json_close(json, ']');
}
