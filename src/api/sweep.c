/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memscope/sweep.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/text/output.h"
#include "base/threads.h"
#include "input/config/run/run_fields.h"
#include "decide/sweep/rows.h"
#include "decide/sweep/settings.h"

struct ms_sweep {
    ms_arena *arena;
    ms_sweep_settings settings;
    ms_grid grid;
    ms_question question;
    ms_row_layout layout;
    ms_sweep_progress progress;
    char *header;
    bool is_open;
    atomic_bool stop;
};

ms_sweep *ms_sweep_create(void)
{
    ms_sweep *sweep = calloc(1, sizeof *sweep);
    if (!sweep)
        return NULL;
    sweep->arena = sweep->grid.arena = ms_arena_create(0);
    if (!sweep->arena || ms_sweep_settings_init(&sweep->settings, sweep->arena, NULL) != MS_OK) {
        ms_arena_free(sweep->arena);
        free(sweep);
        return NULL;
    }
    atomic_init(&sweep->stop, false);
    return sweep;
}

void ms_sweep_free(ms_sweep *sweep)
{
    if (!sweep)
        return;
    ms_grid_free(&sweep->grid);
    free(sweep->header);
    ms_arena_free(sweep->arena);
    free(sweep);
}

/* ---- settings ---- */

const ms_run_field *ms_sweep_fields(size_t *count)
{
    if (!count)
        return NULL;
    *count = ms_sweep_table.count;
    return ms_sweep_table.texts;
}

const char *ms_sweep_field_choice(const char *field, size_t index)
{
    int row = field ? ms_config_field_find(&ms_sweep_table, field) : -1;
    if (row < 0)
        return NULL;
    const ms_config_field *field_row = &ms_sweep_table.rows[row];
    return ms_config_field_choice(field_row, 0) ? ms_config_field_choice(field_row, index)
                                                : ms_config_field_example(field_row, index);
}

static ms_status check_closed(const ms_sweep *sweep, ms_error *err)
{
    return sweep->is_open
               ? ms_fail(err, MS_ERR_USAGE, "the sweep has started: nothing can be set any more")
               : MS_OK;
}

ms_status ms_sweep_set(ms_sweep *sweep, const char *field, const char *value, ms_error *err)
{
    if (!sweep || !field || !value)
        return ms_fail_null(err);
    ms_status status = check_closed(sweep, err);
    return status == MS_OK
               ? ms_sweep_settings_set(&sweep->settings, sweep->arena, field, value, err)
               : status;
}

const char *ms_sweep_get(const ms_sweep *sweep, const char *field)
{
    if (!sweep || !field)
        return NULL;
    if (strcmp(field, "format") == 0)
        return ms_row_format_names[sweep->settings.format];
    if (strcmp(field, "objectives") == 0)
        return sweep->settings.objectives;
    if (strcmp(field, "frontier") == 0)
        return sweep->settings.frontier ? "true" : "";
    if (strcmp(field, "shard") == 0)
        return sweep->settings.shards > 1 ? "true" : "";
    return NULL;
}

ms_status ms_sweep_set_run(ms_sweep *sweep, const char *field, const char *values, ms_error *err)
{
    if (!sweep || !field || !values)
        return ms_fail_null(err);
    ms_status status = check_closed(sweep, err);
    return status == MS_OK ? ms_grid_add(&sweep->grid, field, values, err) : status;
}

const char *ms_sweep_format_at(size_t index)
{
    return index < MS_ROWS_COUNT ? ms_row_format_names[index] : NULL;
}

void ms_sweep_set_inputs(ms_sweep *sweep, ms_inputs *inputs)
{
    if (sweep)
        ms_arena_set_inputs(sweep->arena, inputs);
}

/* ---- opening ---- */

/* Equal for sweeps whose rows are the same, whatever their format, shards and threads. */
static ms_status digest(ms_sweep *sweep, ms_error *err)
{
    const ms_sweep_settings *s = &sweep->settings;
    char text[32];
    uint64_t value = ms_digest_text(MS_DIGEST_START, MS_VERSION);
    value = ms_digest_text(value, s->fit ? s->fit->name : "");
    snprintf(text, sizeof text, "%" PRIu64, s->step);
    value = ms_digest_text(value, text);
    ms_status status = ms_grid_digest(&sweep->grid, &value, err);
    sweep->layout.sweep = value;
    return status;
}

static ms_status write_header(ms_sweep *sweep, ms_error *err)
{
    size_t length;
    FILE *out = open_memstream(&sweep->header, &length);
    if (out)
        ms_row_write_header(&sweep->layout, out);
    if (!ms_output_close_text(out, &sweep->header))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a sweep");
    return MS_OK;
}

/* A model, or training arguments that may name it. */
static bool names_config(const ms_grid *grid)
{
    for (uint32_t i = 0; i < ms_grid_input_count(grid); i++) {
        const char *name = ms_run_field_name(ms_grid_input_field(grid, i));
        if (strcmp(name, "config") == 0 || strcmp(name, "training-args") == 0 ||
            strcmp(name, "launch") == 0)
            return true;
    }
    return false;
}

ms_status ms_sweep_open(ms_sweep *sweep, ms_error *err)
{
    if (!sweep)
        return ms_fail_null(err);
    const ms_sweep_settings *s = &sweep->settings;
    ms_status status = ms_sweep_settings_check(s, err);
    if (status == MS_OK && !sweep->is_open)
        status = ms_grid_open(&sweep->grid, s->runs, err);
    if (status != MS_OK)
        return status;
    sweep->is_open = true;
    if (!names_config(&sweep->grid))
        return ms_fail(
            err, MS_ERR_USAGE,
            "no config was given; name built-in models, config.json files or directories");
    sweep->question = (ms_question){s->fit, s->step};
    sweep->layout = (ms_row_layout){.grid = &sweep->grid,
                                    .question = &sweep->question,
                                    .format = s->format,
                                    .point_count = sweep->grid.count};
    uint64_t count = sweep->grid.count;
    sweep->progress.points = count;
    sweep->progress.rows = count > s->shard ? (count - s->shard - 1) / s->shards + 1 : 0;
    status = digest(sweep, err);
    return status == MS_OK ? write_header(sweep, err) : status;
}

const ms_sweep_progress *ms_sweep_progress_of(const ms_sweep *sweep)
{
    if (!sweep)
        return NULL;
    return &sweep->progress;
}

const char *ms_sweep_header(const ms_sweep *sweep)
{
    if (!sweep)
        return NULL;
    return sweep->header ? sweep->header : "";
}

/* ---- going on ---- */

/* The point of a row of this shard. */
static uint64_t point_of(const ms_sweep *sweep, uint64_t row)
{
    return sweep->settings.shard + row * sweep->settings.shards;
}

static bool is_ours(const ms_sweep *sweep, const ms_rows *rows)
{
    bool has_header = !rows->header || strcmp(rows->header, sweep->header) == 0;
    return has_header && rows->format == sweep->layout.format &&
           rows->sweep == sweep->layout.sweep && rows->point_count == sweep->progress.points &&
           sweep->progress.done < sweep->progress.rows &&
           rows->point == point_of(sweep, sweep->progress.done);
}

static ms_status fail_foreign(const ms_rows *rows, ms_error *err)
{
    return ms_fail(err, MS_ERR_CONFIG,
                   "%s:%" PRIu64 ": this is not the row that this sweep writes here; other "
                   "options, another input or another version wrote it",
                   rows->name, rows->line_number);
}

ms_status ms_sweep_resume(ms_sweep *sweep, FILE *written, const char *name, uint64_t *whole_bytes,
                          ms_error *err)
{
    if (!sweep || !written || !name || !whole_bytes)
        return ms_fail_null(err);
    ms_rows rows;
    ms_status status = ms_rows_open(&rows, written, name, err);
    sweep->progress.done = sweep->progress.errors = 0;
    if (status == MS_OK && rows.header && strcmp(rows.header, sweep->header) != 0)
        status = fail_foreign(&rows, err);
    while (status == MS_OK && rows.has_row) {
        if (!is_ours(sweep, &rows)) {
            status = fail_foreign(&rows, err);
            break;
        }
        sweep->progress.done++;
        sweep->progress.errors += rows.is_error;
        status = ms_rows_next(&rows, err);
    }
    *whole_bytes = rows.whole_bytes;
    ms_rows_free(&rows);
    return status;
}

/* ---- running ---- */

typedef struct slot {
    ms_arena *arena;
    ms_point point;
    char *text;
    size_t length;
    bool is_error;
    ms_error fatal; /* the sweep cannot go on */
} slot;

typedef struct running {
    ms_sweep *sweep;
    ms_sweep_take take;
    void *context;
    uint64_t next; /* row that is taken next */
    slot *slots;
    ms_error *err;
    bool has_failed;
    ms_error first; /* why */
} running;

static void clear(slot *s)
{
    ms_arena_free(s->arena);
    free(s->text);
    *s = (slot){0};
}

static void fail_slot(slot *s, const char *what)
{
    ms_error_set(&s->fatal, MS_ERR_NOMEM, "out of memory for %s", what);
}

/* A failure to read the input is delivered in its turn, so that all before it is written. */
static bool take_point(void *context, uint32_t index)
{
    running *r = context;
    slot *s = &r->slots[index];
    if (r->has_failed || r->next == r->sweep->progress.rows || atomic_load(&r->sweep->stop))
        return false;
    s->arena = ms_arena_create(0);
    if (s->arena)
        ms_arena_set_inputs(s->arena, ms_arena_inputs(r->sweep->arena));
    if (!s->arena)
        fail_slot(s, "a point");
    else if (ms_grid_read(&r->sweep->grid, point_of(r->sweep, r->next), s->arena, &s->point,
                          &s->fatal) == MS_OK)
        r->next++;
    r->has_failed = s->fatal.status != MS_OK;
    return true;
}

static void work_on_point(void *context, uint32_t index)
{
    running *r = context;
    slot *s = &r->slots[index];
    ms_figures figures;
    ms_error reason = {.status = MS_OK};
    if (s->fatal.status != MS_OK)
        return;
    const ms_grid *grid = &r->sweep->grid;
    ms_status status = ms_figures_find(s->arena, &s->point, ms_grid_input_count(grid),
                                       &r->sweep->question, &figures, &reason);
    if (status == MS_ERR_NOMEM) { /* here and now; no property of the point */
        s->fatal = reason;
        return;
    }
    reason.status = status;
    s->is_error = status != MS_OK;
    FILE *out = open_memstream(&s->text, &s->length);
    if (out)
        ms_row_write(&r->sweep->layout, &s->point, &figures, &reason, out);
    if (!ms_output_close_text(out, &s->text))
        fail_slot(s, "a row");
}

static bool deliver_row(void *context, uint32_t index)
{
    running *r = context;
    slot *s = &r->slots[index];
    ms_sweep_progress *progress = &r->sweep->progress;
    if (s->fatal.status != MS_OK) {
        r->first = s->fatal;
    } else {
        progress->done++;
        progress->errors += s->is_error;
        if (r->take(r->context, s->text, s->length, &r->first) != MS_OK) {
            progress->done--;
            progress->errors -= s->is_error;
        }
    }
    clear(s);
    return r->first.status == MS_OK;
}

ms_status ms_sweep_run(ms_sweep *sweep, ms_sweep_take take, void *context, ms_error *err)
{
    if (!sweep || !take)
        return ms_fail_null(err);
    enum { SLOTS_PER_THREAD = 4 };
    uint32_t threads =
        sweep->settings.jobs ? (uint32_t)sweep->settings.jobs : ms_threads_processors();
    uint32_t slots = threads * SLOTS_PER_THREAD;
    if (slots > MS_ORDERED_MOST_SLOTS)
        slots = MS_ORDERED_MOST_SLOTS;
    running r = {.sweep = sweep, .take = take, .context = context, .next = sweep->progress.done};
    if (!sweep->is_open)
        return ms_fail(err, MS_ERR_USAGE, "the sweep is not open");
    r.slots = calloc(slots, sizeof *r.slots);
    if (!r.slots)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a sweep");
    ms_ordered_run(&(ms_ordered){.threads = threads,
                                 .slots = slots,
                                 .take = take_point,
                                 .work = work_on_point,
                                 .deliver = deliver_row,
                                 .context = &r});
    for (uint32_t i = 0; i < slots; i++)
        clear(&r.slots[i]);
    free(r.slots);
    const ms_sweep_progress *p = &sweep->progress;
    if (r.first.status != MS_OK) {
        if (err && err->status == MS_OK)
            *err = r.first;
        return r.first.status;
    }
    return p->done == p->rows
               ? MS_OK
               : ms_fail(err, MS_ERR_STOPPED, "stopped after %" PRIu64 " of %" PRIu64 " rows",
                         p->done, p->rows);
}

void ms_sweep_stop(ms_sweep *sweep)
{
    if (!sweep)
        return;
    atomic_store(&sweep->stop, true);
}
