/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/devices/devices.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/devices/device_rows.h"
#include "api/plan.h"
#include "api/run.h"
#include "base/arena.h"
#include "input/config/resolve/device_named.h"
#include "input/config/resolve/resolve_images.h"
#include "input/config/run/optimizer.h"
#include "memscope/devices.h"
#include "model/load.h"
#include "report/others/fit_report.h"
#include "report/runs/runs_verdict.h"
#include "report/writers.h"
#include "run/simulate/change.h"

/* ---- device list ---- */

typedef struct choosing {
    const ms_device *devices;
    bool *is_chosen;
    uint32_t count;
} choosing;

static ms_status choose(const choosing *c, const char *name, ms_error *err)
{
    char hint[MS_DEVICE_HINT_BYTES];
    if (strcmp(name, "all") == 0) {
        for (uint32_t i = 0; i < c->count; i++)
            c->is_chosen[i] = c->is_chosen[i] || !c->devices[i].is_cpu;
        return MS_OK;
    }
    const ms_device *found = ms_device_named(c->devices, c->count, name, hint);
    if (!found)
        return ms_fail(err, MS_ERR_CONFIG, "device: unknown device '%.40s'%s", name, hint);
    c->is_chosen[found - c->devices] = true;
    return MS_OK;
}

static ms_status choose_each(const choosing *c, char *rest, ms_error *err)
{
    ms_status status = MS_OK;
    while (rest && status == MS_OK) {
        char *comma = strchr(rest, ',');
        if (comma)
            *comma++ = '\0';
        status = choose(c, rest, err);
        rest = comma;
    }
    return status;
}

static bool take_chosen(const choosing *c, ms_arena *arena, ms_device_list *list)
{
    const ms_device **order = ms_arena_array(arena, const ms_device *, c->count);
    list->names = ms_arena_array(arena, const char *, c->count);
    list->count = 0;
    if (!order || !list->names)
        return false;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->is_chosen[i])
            order[list->count++] = &c->devices[i];
    qsort(order, list->count, sizeof *order, ms_device_by_size);
    for (uint32_t i = 0; i < list->count; i++)
        list->names[i] = order[i]->name;
    return true;
}

/* "all" leaves the cpu out. A device that is named twice is there once. Refuses what is unknown. */
static ms_status device_list_read(ms_arena *arena, const char *text, ms_device_list *list,
                                  ms_error *err)
{
    choosing c = {.count = 0};
    ms_status status = ms_devices_load(arena, &c.devices, &c.count, err);
    if (status != MS_OK)
        return status;
    char *copy = ms_arena_strdup(arena, text);
    c.is_chosen = ms_arena_array(arena, bool, c.count);
    if (!copy || !c.is_chosen)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for devices");
    status = choose_each(&c, copy, err);
    if (status == MS_OK && !take_chosen(&c, arena, list))
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for devices");
    return status;
}

/* ---- devices ---- */

struct ms_devices {
    ms_arena *arena;
    ms_device_list devices;
    ms_runs_row *rows;
    ms_runs_view view;
    ms_notes notes;
    bool lacks_checkpoints; /* see ms_lacks_checkpoints_of_peft */
    ms_style style;
};

static const char of_device[] = "device";

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for a table of devices");
}

bool ms_devices_are_listed(const char *devices)
{
    return devices && (strcmp(devices, "all") == 0 || strchr(devices, ','));
}

void ms_devices_free(ms_devices *table)
{
    if (!table)
        return;
    ms_arena_free(table->arena);
    free(table);
}

static ms_devices *create(ms_error *err)
{
    ms_devices *table = calloc(1, sizeof *table);
    if (table)
        table->arena = ms_arena_create(0);
    if (table && table->arena) {
        table->style = (ms_style){.columns = 80};
        return table;
    }
    free(table);
    (void)no_memory(err);
    return NULL;
}

/* ---- what all rows have in common ---- */

/* Standard input could be read for the first device only. */
static ms_status check_files(const ms_run_setting *settings, size_t count, ms_error *err)
{
    for (size_t i = 0; i < count; i++) {
        int field = ms_run_field_find(settings[i].field);
        if (field >= 0 && ms_run_field_kind((size_t)field)->is_file &&
            strcmp(settings[i].value, "-") == 0)
            return ms_fail(err, MS_ERR_USAGE,
                           "%s: standard input can be read only once, so give one device",
                           settings[i].field);
    }
    return MS_OK;
}

/* The run's settings, and a device as the last of them. */
static ms_status take_settings(ms_arena *arena, const ms_run_setting *own, size_t count,
                               ms_inputs *inputs, ms_device_run *run, ms_error *err)
{
    ms_run_setting *settings = ms_arena_array(arena, ms_run_setting, count + 1);
    if (!settings)
        return no_memory(err);
    if (count > 0)
        memcpy(settings, own, count * sizeof *settings);
    settings[count] = (ms_run_setting){of_device, NULL};
    *run = (ms_device_run){.settings = settings, .count = count + 1, .inputs = inputs};
    return check_files(settings, count, err);
}

/* Keeps the notes that `others` has too. */
static void keep_common(ms_notes *notes, const ms_notes *others)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < notes->count; i++)
        for (uint32_t k = 0; k < others->count; k++)
            if (strcmp(notes->texts[i], others->texts[k]) == 0) {
                notes->texts[kept++] = notes->texts[i];
                break;
            }
    notes->count = kept;
}

static const char *title_of(ms_arena *arena, const ms_runs_view *view, const ms_model_config *model,
                            const ms_run_config *run)
{
    const ms_fit_what *what = NULL;
    char text[MS_IMAGES_TEXT];
    if (view->question == MS_RUNS_FIT && ms_fit_what_find(view->what, &what, NULL) == MS_OK)
        return ms_fit_title(arena, what, model, run);
    return ms_arena_printf(arena, "%s: batch %" PRIu64 " x %" PRIu64 " tokens%s, %s, %s",
                           ms_model_title(model), run->batch, run->seq_tokens,
                           ms_images_words(model, run, text),
                           ms_dtype_info_of(run->dtype)->short_name,
                           ms_optimizer_traits_of(run->training.optimizer)->name);
}

/* Loads the run for each device: the first that loads gives title and model, and notes are those
 * of all that load. Where none does, the first failure is the answer. */
static ms_status describe(ms_devices *t, const ms_device_run *run, ms_error *err)
{
    ms_error first = {.status = MS_OK};
    ms_run_setting *settings = ms_arena_array(t->arena, ms_run_setting, run->count);
    if (!settings)
        return no_memory(err);
    memcpy(settings, run->settings, run->count * sizeof *settings);
    for (uint32_t i = 0; i < t->devices.count; i++) {
        ms_model_config model;
        ms_run_config resolved;
        ms_notes notes = {0};
        ms_error reason = {.status = MS_OK};
        settings[run->count - 1].value = t->devices.names[i];
        ms_status status =
            ms_run_load(t->arena, settings, run->count, &model, &resolved, &notes, &reason);
        if (status != MS_OK && first.status == MS_OK)
            first = reason;
        if (status != MS_OK)
            continue;
        if (t->view.title) {
            keep_common(&t->notes, &notes);
            continue;
        }
        t->notes = notes;
        t->lacks_checkpoints = ms_lacks_checkpoints_of_peft(&resolved);
        t->view.model = ms_model_title(&model);
        t->view.title = title_of(t->arena, &t->view, &model, &resolved);
    }
    if (t->view.title)
        return MS_OK;
    *err = first;
    return first.status == MS_OK ? no_memory(err) : first.status;
}

/* ---- rows ---- */

/* Those that fit first; in each group the one with the least memory. */
static int group_of(const ms_runs_row *row)
{
    return ms_runs_are_safe(row)      ? 0
           : ms_runs_fits(row)        ? 1
           : ms_runs_are_unknown(row) ? 2
           : row->error               ? 4
                                      : 3;
}

static bool sort(ms_devices *t)
{
    uint32_t count = t->devices.count, next = 0;
    ms_runs_row *sorted = ms_arena_array(t->arena, ms_runs_row, count);
    for (int group = 0; sorted && group < 5; group++)
        for (uint32_t i = 0; i < count; i++)
            if (group_of(&t->rows[i]) == group)
                sorted[next++] = t->rows[i];
    t->view.rows = sorted;
    t->view.count = count;
    return sorted != NULL;
}

static ms_status finish(ms_devices *t, const ms_error *first, ms_error *err)
{
    bool has_figures = false;
    for (uint32_t i = 0; i < t->devices.count; i++)
        has_figures = has_figures || !t->rows[i].error;
    if (!has_figures) {
        *err = *first;
        return first->status;
    }
    return sort(t) ? MS_OK : no_memory(err);
}

static ms_status begin(ms_devices *t, const char *devices, ms_runs_question question, ms_error *err)
{
    static const char *const fields[] = {of_device};
    t->view = (ms_runs_view){.question = question,
                             .of_devices = true,
                             .fields = fields,
                             .field_count = 1,
                             .arena = t->arena};
    ms_status status = device_list_read(t->arena, devices, &t->devices, err);
    if (status != MS_OK)
        return status;
    t->rows = ms_arena_array(t->arena, ms_runs_row, t->devices.count);
    const char **values = ms_arena_array(t->arena, const char *, t->devices.count);
    if (!t->rows || !values)
        return no_memory(err);
    for (uint32_t i = 0; i < t->devices.count; i++) {
        values[i] = t->devices.names[i];
        t->rows[i].values = &values[i];
    }
    return MS_OK;
}

/* On how many devices the run fits with another setting. */
static ms_status count_with(ms_devices *t, const ms_device_run *shared, const char *field,
                            const char *value, const ms_question *question, uint32_t *count,
                            ms_error *err)
{
    ms_error first = {.status = MS_OK};
    ms_runs_view view = t->view;
    ms_runs_row *rows = ms_arena_array(t->arena, ms_runs_row, t->devices.count);
    ms_run_setting *settings = ms_arena_array(t->arena, ms_run_setting, shared->count + 1);
    if (!rows || !settings)
        return no_memory(err);
    settings[0] = (ms_run_setting){field, value};
    memcpy(settings + 1, shared->settings, shared->count * sizeof *settings);
    const ms_device_run changed = {settings, shared->count + 1, shared->inputs};
    ms_status status =
        ms_device_rows_find(t->arena, &changed, question, &t->devices, rows, &first, err);
    view.rows = rows;
    view.count = t->devices.count;
    *count = status == MS_OK ? ms_runs_fit_count(&view) : 0;
    return status;
}

/* The first of the notes. */
static ms_status note_prepared(ms_devices *t, const ms_device_run *shared,
                               const ms_question *question, ms_error *err)
{
    uint32_t count = 0;
    if (!t->lacks_checkpoints)
        return MS_OK;
    ms_status status = count_with(t, shared, "checkpointing", "all", question, &count, err);
    if (status == MS_OK)
        status = ms_note_add(
            &t->notes, t->arena, err,
            "when PEFT prepares a quantised base it checkpoints every layer by default, but this "
            "run checkpoints none: with --checkpointing all it fits on %" PRIu32 " of %" PRIu32
            " devices",
            count, t->devices.count);
    if (status != MS_OK)
        return status;
    const char *last = t->notes.texts[t->notes.count - 1];
    memmove(t->notes.texts + 1, t->notes.texts, (t->notes.count - 1) * sizeof *t->notes.texts);
    t->notes.texts[0] = last;
    return MS_OK;
}

static ms_status find(ms_devices *t, const ms_run *run, const ms_question *question, ms_error *err)
{
    ms_device_run shared;
    ms_error first = {.status = MS_OK};
    ms_arena_set_inputs(t->arena, run->inputs);
    ms_status status = take_settings(t->arena, run->settings.items, run->settings.count,
                                     run->inputs, &shared, err);
    if (status == MS_OK)
        status = describe(t, &shared, err);
    if (status == MS_OK)
        status =
            ms_device_rows_find(t->arena, &shared, question, &t->devices, t->rows, &first, err);
    if (status == MS_OK)
        status = finish(t, &first, err);
    return status == MS_OK ? note_prepared(t, &shared, question, err) : status;
}

ms_devices *ms_devices_analyze(const ms_run *run, const char *devices, ms_error *err)
{
    if (!run || !devices || !err)
        return (void)ms_fail_null(err), NULL;
    const ms_question question = {.what = NULL};
    ms_devices *t = create(err);
    if (t && begin(t, devices, MS_RUNS_ANALYZE, err) == MS_OK &&
        find(t, run, &question, err) == MS_OK)
        return t;
    ms_devices_free(t);
    return NULL;
}

ms_devices *ms_devices_fit(const ms_run *run, const char *devices, const char *what, uint64_t step,
                           ms_error *err)
{
    if (!run || !devices || !what || !err)
        return (void)ms_fail_null(err), NULL;
    ms_question question = {.step = step};
    if (ms_fit_what_find(what, &question.what, err) != MS_OK)
        return NULL;
    ms_devices *t = create(err);
    if (t && begin(t, devices, MS_RUNS_FIT, err) == MS_OK) {
        t->view.what = question.what->name;
        t->view.is_fewest = question.what->kind == MS_FIT_GPUS;
        if (find(t, run, &question, err) == MS_OK)
            return t;
    }
    ms_devices_free(t);
    return NULL;
}

/* What a row of a table has no room for. */
static ms_status check_plan(const ms_plan *plan, ms_error *err)
{
    const ms_plan_settings *s = &plan->settings;
    const char *refused = s->graph                                  ? "graph"
                          : s->ops                                  ? "ops"
                          : s->curve                                ? "curve"
                          : strcmp(s->target, ms_every_target) == 0 ? "target all"
                                                                    : NULL;
    return refused ? ms_fail(err, MS_ERR_USAGE, "--%s works with one device only", refused) : MS_OK;
}

static ms_status plan_each(ms_devices *t, const ms_plan *plan, ms_error *err)
{
    ms_device_run shared;
    ms_error first = {.status = MS_OK};
    ms_arena_set_inputs(t->arena, ms_arena_inputs(plan->arena));
    ms_status status = take_settings(t->arena, plan->run_settings.items, plan->run_settings.count,
                                     ms_arena_inputs(plan->arena), &shared, err);
    if (status == MS_OK)
        status = describe(t, &shared, err);
    if (status == MS_OK)
        status = ms_device_rows_plan(t->arena, plan, &t->devices, t->rows, &first, err);
    return status == MS_OK ? finish(t, &first, err) : status;
}

ms_devices *ms_devices_plan(const ms_plan *plan, const char *devices, ms_error *err)
{
    if (!plan || !devices || !err)
        return (void)ms_fail_null(err), NULL;
    if (check_plan(plan, err) != MS_OK)
        return NULL;
    ms_devices *t = create(err);
    if (t && begin(t, devices, MS_RUNS_PLAN, err) == MS_OK && plan_each(t, plan, err) == MS_OK)
        return t;
    ms_devices_free(t);
    return NULL;
}

/* ---- the answer ---- */

ms_fit_verdict ms_devices_verdict(const ms_devices *table)
{
    ms_fit_verdict best = MS_VERDICT_NO;
    for (uint32_t i = 0; table && i < table->view.count; i++) {
        const ms_runs_row *row = &table->view.rows[i];
        const ms_fit_verdict is = ms_runs_are_safe(row)      ? MS_VERDICT_FITS
                                  : ms_runs_fits(row)        ? MS_VERDICT_TIGHT
                                  : ms_runs_are_unknown(row) ? MS_VERDICT_UNKNOWN
                                                             : MS_VERDICT_NO;
        best = is > best ? is : best;
    }
    return best;
}

uint64_t ms_devices_fit_count(const ms_devices *table)
{
    return table ? ms_runs_fit_count(&table->view) : 0;
}

const char *ms_devices_note(const ms_devices *table, size_t index)
{
    return table ? ms_note_at(&table->notes, index) : NULL;
}

void ms_devices_set_style(ms_devices *table, const ms_style *style)
{
    if (table && style)
        table->style = *style;
}

ms_status ms_devices_write(const ms_devices *table, const char *format, FILE *out, ms_error *err)
{
    if (!table || !format || !out)
        return ms_fail_null(err);
    ms_runs_view view = table->view;
    view.style = &table->style;
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_RUNS, format, err);
    return writer ? ms_writer_write(writer, &view, table->arena, out, err) : MS_ERR_USAGE;
}

const char *ms_devices_format_at(size_t index)
{
    return ms_writer_name_at(MS_DOCUMENT_RUNS, index);
}
