/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of a sweep as a table for people.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json/number.h"
#include "base/locale.h"
#include "decide/sweep/frontier.h"
#include "decide/sweep/rows.h"
#include "decide/sweep/settings.h"
#include "memscope/sweep.h"
#include "report/runs/runs_view.h"
#include "report/writers.h"

/* ---- sweep rows ---- */

/* Rows of finished sweeps: joining shards, and the Pareto front. */

static ms_status open_shards(const char *const *paths, size_t count, ms_rows *shards, ms_error *err)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < count && status == MS_OK; i++) {
        ms_error reason = {.status = MS_OK};
        FILE *file = ms_file_open(NULL, paths[i], &reason);
        if (!file)
            return ms_fail(err, reason.status, "cannot read %s: %s", paths[i], reason.text);
        status = ms_rows_open(&shards[i], file, paths[i], err);
    }
    return status;
}

ms_status ms_sweep_merge(const char *const *paths, size_t count, FILE *out, ms_error *err)
{
    if (!paths || !out)
        return ms_fail_null(err);
    ms_rows *shards = calloc(count ? count : 1, sizeof *shards);
    if (!shards)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %zu files", count);
    ms_status status = open_shards(paths, count, shards, err);
    if (status == MS_OK)
        status = ms_rows_merge(shards, count, out, err);
    for (size_t i = 0; i < count; i++) {
        ms_rows_free(&shards[i]);
        if (shards[i].file)
            fclose(shards[i].file);
    }
    free(shards);
    return status;
}

ms_status ms_sweep_frontier(FILE *rows, const char *name, const char *objectives, FILE *out,
                            ms_error *err)
{
    if (!rows || !name || !out)
        return ms_fail_null(err);
    return ms_rows_frontier(rows, name, objectives ? objectives : ms_sweep_usual_objectives(), out,
                            err);
}

/* ---- sweep table ---- */

typedef struct making {
    ms_arena *arena;
    ms_row_texts texts;
    uint32_t *inputs; /* columns of the options that differ from row to row */
    ms_runs_view view;
} making;

static const char *cell(const making *m, uint32_t row, const char *column)
{
    return ms_row_text(&m->texts, row, column);
}

static uint64_t count_in(const making *m, uint32_t row, const char *column)
{
    uint64_t count = 0;
    const char *text = cell(m, row, column);
    return ms_number_count(text, strlen(text), &count) == MS_COUNT_OK ? count : 0;
}

static double number_in(const making *m, uint32_t row, const char *column)
{
    return ms_number_read(cell(m, row, column), NULL);
}

/* Whether all rows, or all that are no error, have the same there; it is then in *text. */
static bool is_same(const making *m, const char *column, bool skips_errors, const char **text)
{
    *text = NULL;
    for (uint32_t i = 0; i < m->texts.rows.count; i++) {
        const char *own = cell(m, i, column);
        if (skips_errors && !*own)
            continue;
        if (*text && strcmp(*text, own) != 0)
            return false;
        *text = own;
    }
    return *text != NULL;
}

/* What the rows have in common: "llama-3.1-8b: 6 runs with --seq 4096". */
static ms_status make_title(making *m, ms_error *err)
{
    const char *same, *options = "";
    for (uint32_t i = 0; i < m->texts.input_count && options; i++) {
        const char *name = m->texts.names[m->texts.first_input + i];
        if (strcmp(name, "config") != 0 && is_same(m, name, false, &same) && *same)
            options = ms_arena_printf(m->arena, "%s --%s %s", options, name, same);
    }
    bool has_model = is_same(m, "model", true, &m->view.model);
    uint32_t count = m->texts.rows.count;
    m->view.title =
        ms_arena_printf(m->arena, "%s%s%" PRIu32 " run%s%s%s", has_model ? m->view.model : "",
                        has_model ? ": " : "", count, count == 1 ? "" : "s",
                        options && *options ? " with" : "", options ? options : "");
    return m->view.title ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for a table");
}

static ms_status find_fields(making *m, ms_error *err)
{
    const char *same;
    const char **fields = ms_arena_array(m->arena, const char *, m->texts.input_count);
    m->inputs = ms_arena_array(m->arena, uint32_t, m->texts.input_count);
    if (!fields || !m->inputs)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a table");
    for (uint32_t i = 0; i < m->texts.input_count; i++) {
        uint32_t column = m->texts.first_input + i;
        if (is_same(m, m->texts.names[column], false, &same))
            continue;
        m->inputs[m->view.field_count] = column;
        fields[m->view.field_count++] = m->texts.names[column];
    }
    m->view.fields = fields;
    const char *what;
    if (is_same(m, "fit", true, &what)) {
        m->view.question = MS_RUNS_FIT;
        m->view.what = what;
        m->view.is_fewest = strcmp(what, "gpus") == 0;
    }
    return MS_OK;
}

static ms_status make_row(const making *m, uint32_t index, ms_runs_row *row, ms_error *err)
{
    const char **values = ms_arena_array(m->arena, const char *, m->view.field_count);
    if (!values)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a table");
    for (uint32_t i = 0; i < m->view.field_count; i++)
        values[i] = m->texts.rows.items[index][m->inputs[i]];
    bool is_error = strcmp(cell(m, index, "status"), "error") == 0;
    const char *verdict = cell(m, index, "verdict");
    *row = (ms_runs_row){.values = values,
                         .error = is_error ? cell(m, index, "error") : NULL,
                         .has_step = *verdict != '\0',
                         .verdict = *verdict ? verdict : ms_fit_verdict_name(MS_VERDICT_NO),
                         .verdict_reason = cell(m, index, "verdict_reason"),
                         .needed_bytes = count_in(m, index, "expected_device_bytes"),
                         .budget_bytes = count_in(m, index, "budget_bytes"),
                         .step_ms = number_in(m, index, "step_time_ms"),
                         .tokens_per_s = number_in(m, index, "tokens_per_s"),
                         .tokens_per_s_per_gpu = number_in(m, index, "tokens_per_s_per_gpu"),
                         .usd_per_hour = number_in(m, index, "usd_per_hour"),
                         .usd_per_million_tokens = number_in(m, index, "usd_per_million_tokens"),
                         .value = count_in(m, index, "value"),
                         .safe_value = count_in(m, index, "safe_value"),
                         .next = count_in(m, index, "next"),
                         .stopped_by = cell(m, index, "stopped_by")};
    return MS_OK;
}

static ms_status make(making *m, FILE *file, const char *name, ms_error *err)
{
    ms_status status = ms_row_texts_read(m->arena, file, name, &m->texts, err);
    if (status == MS_OK)
        status = find_fields(m, err);
    if (status == MS_OK)
        status = make_title(m, err);
    if (status != MS_OK)
        return status;
    m->view.count = m->texts.rows.count;
    ms_runs_row *rows = ms_arena_array(m->arena, ms_runs_row, m->view.count);
    if (!rows)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a table");
    for (uint32_t i = 0; i < m->view.count && status == MS_OK; i++)
        status = make_row(m, i, &rows[i], err);
    m->view.rows = rows;
    return status;
}

ms_status ms_sweep_write_table(FILE *rows, const char *name, const ms_style *style, FILE *out,
                               ms_error *err)
{
    if (!rows || !name || !style || !out)
        return ms_fail_null(err);
    making m = {.arena = ms_arena_create(0)};
    if (!m.arena)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a table");
    m.view.arena = m.arena;
    m.view.style = style;
    ms_status status = make(&m, rows, name, err);
    const ms_writer *writer =
        status == MS_OK ? ms_writer_find(MS_DOCUMENT_RUNS, "console", err) : NULL;
    if (writer)
        status = ms_writer_write(writer, &m.view, m.arena, out, err);
    ms_row_texts_free(&m.texts);
    ms_arena_free(m.arena);
    return status;
}
