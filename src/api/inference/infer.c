/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memscope/infer.h"

#include <stdlib.h>

#include "api/inference/infer_axes.h"
#include "base/error.h"
#include "serve/infer/infer.h"
#include "report/infer/infer_view.h"
#include "report/writers.h"

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
    ms_infer_axes_free(&n->axes);
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
    return ms_infer_axes_set(&n->axes, &n->settings, n->arena, field, value, err);
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
    ms_status status = ms_infer_axes_rows(&n->axes, &n->settings, &n->input, &n->rows, err);
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
        return ms_fail(err, MS_ERR_USAGE, "%s has a line for each value of a list, as --device all",
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
