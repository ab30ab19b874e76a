/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "decide/sweep/grid.h"
#include "memscope/infer.h"
#include "report/infer/infer_view.h"
#include "report/writers.h"
#include "serve/infer/infer.h"
#include "serve/infer/rows.h"
#include "serve/infer/trial.h"

/* ---- infer axes ---- */

/* Lists of values for settings of inference, as a sweep takes them for those of a run. */

typedef struct ms_infer_axes {
    ms_vec(ms_sweep_axis) items; /* in the order in which their fields were first named */
} ms_infer_axes;

static ms_status check(ms_arena *arena, const char *field, const char *value, ms_error *err)
{
    ms_infer_settings ignored = {.fit = MS_INFER_FIT_NONE};
    return ms_infer_settings_set(&ignored, arena, field, value, err);
}

static const ms_sweep_axis_of of_inference = {
    .table = &ms_infer_table, .check = check, .texts_have_commas = true};

static const char of_quant[] = "quant", all[] = "all";

static void infer_axes_free(ms_infer_axes *axes)
{
    for (uint32_t i = 0; i < axes->items.count; i++)
        ms_sweep_axis_free(&axes->items.items[i]);
    ms_vec_free(&axes->items);
}

static void remove_axis(ms_infer_axes *axes, size_t field)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < axes->items.count; i++)
        if (axes->items.items[i].field == field)
            ms_sweep_axis_free(&axes->items.items[i]);
        else
            axes->items.items[kept++] = axes->items.items[i];
    axes->items.count = kept;
}

/* "all" of quant is known only when the engine is, so it has no company. */
static ms_status check_all(const ms_sweep_axis *axis, ms_arena *arena, ms_error *err)
{
    bool is_quant = strcmp(ms_infer_table.rows[axis->field].name, of_quant) == 0;
    for (uint64_t i = 0; is_quant && axis->count > 1 && i < axis->count; i++)
        if (strcmp(ms_sweep_axis_value(axis, i, arena), all) == 0)
            return ms_fail(err, MS_ERR_USAGE, "quant: all stands for every type, alone");
    return MS_OK;
}

/* Takes the values of a list in place of earlier ones of the field. One value alone goes into the
 * settings; `all` of `quant` stands for those of the engine, when they are counted. */
static ms_status infer_axes_set(ms_infer_axes *axes, ms_infer_settings *settings, ms_arena *arena,
                                const char *field, const char *list, ms_error *err)
{
    int row = ms_config_field_find(&ms_infer_table, field);
    if (row < 0)
        return ms_infer_settings_set(settings, arena, field, list, err);
    ms_sweep_axis axis = {.of = &of_inference, .field = (size_t)row};
    ms_status status = ms_sweep_axis_add(&axis, arena, list, err);
    if (status == MS_OK)
        status = check_all(&axis, arena, err);
    if (status == MS_OK)
        remove_axis(axes, (size_t)row);
    bool is_list = axis.count > 1 ||
                   (axis.count == 1 && strcmp(ms_infer_table.rows[row].name, of_quant) == 0 &&
                    strcmp(list, all) == 0);
    if (status == MS_OK && !is_list)
        status = ms_infer_settings_set(settings, arena, field, ms_sweep_axis_value(&axis, 0, arena),
                                       err);
    if (status == MS_OK && is_list && ms_vec_push(&axes->items, axis))
        return MS_OK;
    ms_sweep_axis_free(&axis);
    return status == MS_OK && is_list ? ms_infer_no_memory(err) : status;
}

/* The types that the engine has for the model, for "all". */
static ms_status expand_quant(ms_sweep_axis *axis, const ms_infer_settings *settings,
                              const ms_infer_input *input, ms_error *err)
{
    const ms_infer_engine *engine;
    const char *names[MS_INFER_MOST_QUANTS];
    size_t count = 0;
    if (strcmp(ms_infer_table.rows[axis->field].name, of_quant) != 0 || axis->count != 1)
        return MS_OK;
    ms_status status = ms_infer_engine_find(settings->engine, &engine, err);
    ms_sweep_axis_free(axis);
    *axis = (ms_sweep_axis){.of = &of_inference,
                            .field = (size_t)ms_config_field_find(&ms_infer_table, of_quant)};
    if (status == MS_OK)
        status = ms_infer_quants(input, settings, engine, names, &count, err);
    for (size_t i = 0; status == MS_OK && i < count; i++)
        status = ms_sweep_axis_add(axis, input->arena, names[i], err);
    return status;
}

static ms_status count_rows(const ms_infer_axes *axes, uint64_t *count, ms_error *err)
{
    *count = 1;
    for (uint32_t i = 0; i < axes->items.count; i++)
        if (__builtin_mul_overflow(*count, axes->items.items[i].count, count) ||
            *count > MS_INFER_MOST_ROWS)
            return ms_fail(err, MS_ERR_USAGE,
                           "these lists make more than %d combinations: split them",
                           MS_INFER_MOST_ROWS);
    return MS_OK;
}

static ms_status add_row(const ms_infer_axes *axes, uint64_t index, ms_arena *arena,
                         ms_infer_rows *rows, ms_error *err)
{
    uint32_t count = axes->items.count;
    const char **values = ms_arena_array(arena, const char *, count);
    for (uint32_t i = count; values && i-- > 0;) {
        const ms_sweep_axis *axis = &axes->items.items[i];
        values[i] = ms_sweep_axis_value(axis, index % axis->count, arena);
        index /= axis->count;
    }
    bool ok =
        !ms_arena_has_failed(arena) && ms_vec_push(&rows->rows, (ms_infer_row){.values = values});
    return ok ? MS_OK : ms_infer_no_memory(err);
}

/* Makes a row for each combination of values, the last axis fastest; none without a list. Refuses
 * more than MS_INFER_MOST_ROWS. */
static ms_status infer_axes_rows(ms_infer_axes *axes, const ms_infer_settings *settings,
                                 const ms_infer_input *input, ms_infer_rows *rows, ms_error *err)
{
    ms_arena *arena = input->arena;
    uint64_t points = 0;
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < axes->items.count && status == MS_OK; i++)
        status = expand_quant(&axes->items.items[i], settings, input, err);
    if (status == MS_OK)
        status = count_rows(axes, &points, err);
    if (status != MS_OK || axes->items.count == 0)
        return status;
    const char **fields = ms_arena_array(arena, const char *, axes->items.count);
    for (uint32_t i = 0; fields && i < axes->items.count; i++)
        fields[i] = ms_infer_table.rows[axes->items.items[i].field].name;
    rows->fields = fields;
    rows->field_count = axes->items.count;
    status = fields ? MS_OK : ms_infer_no_memory(err);
    for (uint64_t i = 0; i < points && status == MS_OK; i++)
        status = add_row(axes, i, arena, rows, err);
    return status;
}

/* ---- infer ---- */

struct ms_inference {
    ms_arena *arena;
    ms_infer_settings settings;
    ms_infer_axes axes;
    ms_infer_input input;
    ms_infer_answer answer; /* without lists */
    ms_infer_rows rows;     /* with them */
    ms_style style;
    bool is_predicted;
};

ms_inference *ms_inference_create(void)
{
    ms_inference *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->style = (ms_style){.columns = 80};
    n->arena = ms_arena_create(0);
    if (n->arena && ms_infer_settings_init(&n->settings, n->arena, NULL) == MS_OK)
        return n;
    ms_inference_free(n);
    return NULL;
}

void ms_inference_free(ms_inference *n)
{
    if (!n)
        return;
    if (n->is_predicted) {
        ms_infer_answer_free(&n->answer);
        ms_infer_close(&n->input);
    }
    infer_axes_free(&n->axes);
    ms_infer_rows_free(&n->rows);
    ms_arena_free(n->arena);
    free(n);
}

/* ---- settings ---- */

const ms_run_field *ms_inference_fields(size_t *count)
{
    if (!count)
        return NULL;
    *count = ms_infer_table.count;
    return ms_infer_table.texts;
}

const char *ms_inference_field_choice(const char *field, size_t index)
{
    int row = field ? ms_config_field_find(&ms_infer_table, field) : -1;
    return row < 0 ? NULL : ms_config_field_choice(&ms_infer_table.rows[row], index);
}

ms_status ms_inference_set(ms_inference *n, const char *field, const char *value, ms_error *err)
{
    if (!n || !field || !value)
        return ms_fail_null(err);
    if (n->is_predicted)
        return ms_fail(err, MS_ERR_USAGE, "it is predicted: nothing can be set any more");
    return infer_axes_set(&n->axes, &n->settings, n->arena, field, value, err);
}

void ms_inference_set_inputs(ms_inference *n, ms_inputs *inputs)
{
    if (n)
        ms_arena_set_inputs(n->arena, inputs);
}

/* ---- prediction ---- */

static bool has_rows(const ms_inference *n)
{
    return n->axes.items.count > 0;
}

/* Where no row has figures, the first one says why. */
static ms_status check_rows(const ms_infer_rows *rows, ms_error *err)
{
    for (uint32_t i = 0; i < rows->rows.count; i++)
        if (!rows->rows.items[i].reason)
            return MS_OK;
    return ms_fail(err, rows->rows.items[0].status, "%s", rows->rows.items[0].reason);
}

static ms_status predict(ms_inference *n, ms_error *err)
{
    ms_status status = infer_axes_rows(&n->axes, &n->settings, &n->input, &n->rows, err);
    if (status == MS_OK && has_rows(n)) {
        status = ms_infer_rows_run(&n->input, &n->settings, &n->rows, err);
        return status == MS_OK ? check_rows(&n->rows, err) : status;
    }
    if (status == MS_OK)
        status = ms_infer_place(&n->input, &n->settings, err);
    return status == MS_OK ? ms_infer_run(&n->input, &n->settings, &n->answer, err) : status;
}

ms_status ms_inference_predict(ms_inference *n, const char *model, ms_error *err)
{
    if (!n || !model || !err)
        return ms_fail_null(err);
    if (n->is_predicted)
        return ms_fail(err, MS_ERR_USAGE, "inference is predicted once: make another");
    ms_status status = ms_infer_open(n->arena, model, &n->settings, &n->input, err);
    if (status != MS_OK)
        return status;
    status = predict(n, err);
    n->is_predicted = status == MS_OK;
    if (status != MS_OK) {
        ms_infer_close(&n->input);
        ms_infer_rows_free(&n->rows);
    }
    return status;
}

static bool fits(const ms_infer_row *row)
{
    return !row->reason && row->fits;
}

bool ms_inference_fits(const ms_inference *n)
{
    if (!n || !n->is_predicted)
        return false;
    for (uint32_t i = 0; i < n->rows.rows.count; i++)
        if (fits(&n->rows.rows.items[i]))
            return true;
    return !has_rows(n) && n->answer.fits;
}

const char *ms_inference_note(const ms_inference *n, size_t index)
{
    if (!n || !n->is_predicted)
        return NULL;
    if (has_rows(n))
        return index < n->rows.notes.count ? n->rows.notes.items[index] : NULL;
    return index < n->answer.result.notes.count ? n->answer.result.notes.items[index] : NULL;
}

void ms_inference_set_style(ms_inference *n, const ms_style *style)
{
    if (n && style)
        n->style = *style;
}

ms_status ms_inference_write(const ms_inference *n, const char *format, FILE *out, ms_error *err)
{
    if (!n || !n->is_predicted || !format || !out)
        return ms_fail_null(err);
    const ms_infer_view view = {.settings = has_rows(n) ? &n->settings : &n->answer.settings,
                                .rows = has_rows(n) ? &n->rows : NULL,
                                .input = &n->input,
                                .answer = &n->answer,
                                .arena = n->arena,
                                .style = &n->style};
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_INFER, format, err);
    if (writer && (writer->needs & MS_NEEDS_ROWS) && !view.rows)
        return ms_fail(err, MS_ERR_USAGE,
                       "%s has a line for each value of a list, so give one, such as --device all",
                       format);
    return writer ? ms_writer_write(writer, &view, n->arena, out, err) : MS_ERR_USAGE;
}

const char *ms_inference_format_at(size_t index)
{
    return ms_writer_name_at(MS_DOCUMENT_INFER, index);
}

const char *ms_inference_engine_at(size_t index)
{
    const ms_infer_engine *engine = ms_infer_engine_at(index);
    return engine ? engine->name : NULL;
}
