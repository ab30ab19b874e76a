/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/rows.h"

#include <string.h>

#include "base/threads.h"

/* Rows at a time: what each allocates is freed when they are done. */
enum { BATCH = 40 };

typedef struct batch {
    const ms_infer_input *in;
    const ms_infer_settings *settings;
    const ms_infer_rows *rows;
    uint32_t first;
    ms_arena *arenas[BATCH];
    ms_infer_row done[BATCH]; /* texts in the arenas */
    const ms_infer_engine *engines[BATCH];
    const char *const *notes[BATCH];
    uint32_t note_counts[BATCH];
} batch;

static uint64_t part_of(const ms_infer_result *r, int device, ms_infer_part part)
{
    return ms_infer_part_total(r, device, part, MS_INFER_IN(ms_infer_peak(r, device))).expected;
}

static void take_figures(const ms_infer_input *in, const ms_infer_answer *a, ms_infer_row *row)
{
    const ms_infer_result *r = &a->result;
    int device = ms_infer_decisive(in, a);
    row->device = in->device->name;
    row->devices = r->devices;
    row->budget_bytes = in->budget_bytes;
    row->context = a->context;
    row->concurrency = a->settings.concurrency;
    row->needed = ms_infer_total(r, device, ms_infer_peak(r, device));
    row->weight_bytes = part_of(r, device, MS_INFER_WEIGHTS);
    row->cache_bytes = part_of(r, device, MS_INFER_CACHE) + part_of(r, device, MS_INFER_STATE);
    row->host_bytes = ms_infer_total(r, MS_INFER_HOST, ms_infer_peak(r, MS_INFER_HOST)).expected;
    row->speed = a->speed;
    row->fit_reason = ms_infer_reason(in, a);
    row->fits = a->fits;
    row->lever = a->lever;
    row->lever_value = a->lever_value;
    row->fit = a->fit;
    row->chosen = a->choice.program ? a->choice.arguments : NULL;
}

static ms_status keep_notes(batch *b, uint32_t index, const ms_infer_result *result, ms_error *err)
{
    uint32_t count = result->notes.count;
    const char **notes = ms_arena_array(b->arenas[index], const char *, count);
    if (!notes)
        return ms_infer_no_memory(err);
    for (uint32_t i = 0; i < count; i++)
        notes[i] = result->notes.items[i];
    b->notes[index] = notes;
    b->note_counts[index] = count;
    return MS_OK;
}

static ms_status run_row(batch *b, uint32_t index, ms_error *err)
{
    const ms_infer_rows *rows = b->rows;
    ms_infer_settings settings = *b->settings;
    ms_infer_input in = *b->in;
    ms_infer_answer answer;
    ms_status status = MS_OK;
    in.arena = b->arenas[index];
    in.is_of_table = true;
    for (uint32_t i = 0; i < rows->field_count && status == MS_OK; i++)
        status = ms_infer_settings_set(&settings, in.arena, rows->fields[i],
                                       b->done[index].values[i], err);
    if (status == MS_OK)
        status = ms_infer_place(&in, &settings, err);
    if (status == MS_OK)
        status = ms_infer_run(&in, &settings, &answer, err);
    if (status != MS_OK)
        return status;
    take_figures(&in, &answer, &b->done[index]);
    b->engines[index] = answer.engine;
    status = keep_notes(b, index, &answer.result, err);
    ms_infer_answer_free(&answer);
    return status;
}

static void work(void *context, uint32_t index)
{
    batch *b = context;
    ms_infer_row *row = &b->done[index];
    ms_error err = {.status = MS_OK};
    *row = b->rows->rows.items[b->first + index];
    b->arenas[index] = ms_arena_create(0);
    row->status = b->arenas[index] ? run_row(b, index, &err) : ms_infer_no_memory(&err);
    row->reason = row->status != MS_OK && b->arenas[index]
                      ? ms_arena_strdup(b->arenas[index], err.text)
                      : NULL;
}

/* ---- what is kept ---- */

/* Texts that are static, such as the names of fields, are copied as well. */
static bool keep(ms_arena *arena, const char **text)
{
    *text = *text ? ms_arena_strdup(arena, *text) : NULL;
    return !ms_arena_has_failed(arena);
}

static bool keep_row(ms_arena *arena, ms_infer_row *row)
{
    const char **texts[] = {&row->device,      &row->lever,    &row->reason,   &row->fit.what,
                            &row->fit.value,   &row->fit.safe, &row->fit.next, &row->fit.least,
                            &row->fit.refusal, &row->chosen};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!keep(arena, texts[i]))
            return false;
    return true;
}

static bool keep_note(ms_arena *arena, ms_infer_rows *rows, const char *note)
{
    for (uint32_t i = 0; i < rows->notes.count; i++)
        if (strcmp(rows->notes.items[i], note) == 0)
            return true;
    return keep(arena, &note) && ms_vec_push(&rows->notes, note);
}

static ms_status take_batch(batch *b, uint32_t count, ms_infer_rows *rows, ms_error *err)
{
    bool ok = true;
    for (uint32_t i = 0; i < count; i++) {
        ok = ok && b->done[i].status != MS_ERR_NOMEM && keep_row(b->in->arena, &b->done[i]);
        for (uint32_t k = 0; k < b->note_counts[i]; k++)
            ok = ok && keep_note(b->in->arena, rows, b->notes[i][k]);
        if (b->done[i].devices > 0 && b->done[i].host_bytes > rows->most_host_bytes)
            rows->most_host_bytes = b->done[i].host_bytes;
        rows->has_speed |= b->done[i].fits && b->done[i].speed.decode.per_s > 0;
        if (!rows->engine)
            rows->engine = b->engines[i];
        rows->rows.items[b->first + i] = b->done[i];
        ms_arena_free(b->arenas[i]);
    }
    return ok ? MS_OK : ms_infer_no_memory(err);
}

/* Of any row, as an engine may differ from row to row. */
static bool wants_inventory(const ms_infer_settings *settings, const ms_infer_rows *rows)
{
    const ms_infer_engine *engine = NULL;
    ms_error ignored = {.status = MS_OK}; /* the rows say it */
    for (uint32_t i = 0; i < rows->field_count; i++)
        if (strcmp(rows->fields[i], "engine") == 0)
            return true;
    return ms_infer_engine_find(settings->engine, &engine, &ignored) == MS_OK &&
           engine->reads_inventory;
}

ms_status ms_infer_rows_run(const ms_infer_input *in, const ms_infer_settings *settings,
                            ms_infer_rows *rows, ms_error *err)
{
    ms_status status = MS_OK;
    ms_infer_input shared = *in;
    ms_error ignored = {.status = MS_OK}; /* the rows say it that need the inventory */
    bool is_made = in->document && in->inventory.weights.count == 0 &&
                   wants_inventory(settings, rows) &&
                   ms_inventory_make(in->arena, in->config, &shared.inventory, &ignored) == MS_OK;
    for (uint32_t first = 0; first < rows->rows.count && status == MS_OK; first += BATCH) {
        uint32_t left = rows->rows.count - first, count = left < BATCH ? left : BATCH;
        batch b = {.in = &shared, .settings = settings, .rows = rows, .first = first};
        ms_threads_run(count, work, &b);
        status = take_batch(&b, count, rows, err);
    }
    if (is_made)
        ms_inventory_free(&shared.inventory);
    return status;
}

void ms_infer_rows_free(ms_infer_rows *rows)
{
    ms_vec_free(&rows->rows);
    ms_vec_free(&rows->notes);
}
