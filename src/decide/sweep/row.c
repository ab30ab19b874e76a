/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/sweep/row.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/csv.h"
#include "input/config/run/run_fields.h"
#include "run/simulate/judge.h"
#include "base/json/number.h"
#include "base/json/write.h"

const char *const ms_row_format_names[] = {"csv", "jsonl", NULL};

/* ---- columns ---- */

typedef enum cell_kind {
    CELL_TEXT,
    CELL_COUNT,
    CELL_SIGNED,
    CELL_FITS, /* of a verdict: empty where it is unknown */
    CELL_VERDICT,
    CELL_REASON,
    CELL_E4
} cell_kind;

/* To which questions a column belongs, as bits. */
enum { STEP = 1, FIT = 2, BOTH = STEP | FIT };

typedef struct column {
    const char *name;
    cell_kind kind;
    size_t offset;
    int questions;
    int preference; /* see ms_row_preference */
} column;

#define OWN(member) offsetof(ms_figures, member)
#define OF_STEP(member) offsetof(ms_figures, summary.member)
/* clang-format off */
static const column columns[] = {
    {"model",                    CELL_TEXT,   OWN(model),                         BOTH, 0},
    {"fit",                      CELL_TEXT,   OWN(what),                          FIT,  0},
    {"value",                    CELL_COUNT,  OWN(value),                         FIT,  1},
    {"safe_value",               CELL_COUNT,  OWN(safe_value),                    FIT,  1},
    {"next",                     CELL_COUNT,  OWN(next),                          FIT,  0},
    {"stopped_by",               CELL_TEXT,   OWN(stopped_by),                    FIT,  0},
    {"fits",                     CELL_FITS,   OF_STEP(verdict),                   BOTH, 0},
    {"verdict",                  CELL_VERDICT, OF_STEP(verdict),                  BOTH, 0},
    {"verdict_reason",           CELL_REASON, OF_STEP(verdict_reason),            BOTH, 0},
    {"expected_device_bytes",    CELL_COUNT,  OF_STEP(expected_device_bytes),     BOTH, -1},
    {"budget_bytes",             CELL_COUNT,  OF_STEP(budget_bytes),              BOTH, 0},
    {"headroom_bytes",           CELL_SIGNED, OF_STEP(headroom_bytes),            STEP, 1},
    {"peak_memory_bytes",        CELL_COUNT,  OF_STEP(peak_memory_bytes),         BOTH, -1},
    {"reserved_memory_bytes",    CELL_COUNT,  OF_STEP(reserved_memory_bytes),     BOTH, -1},
    {"evaluation_reserved_bytes", CELL_COUNT, OF_STEP(evaluation_reserved_bytes), STEP, 0},
    {"job_peak_memory_bytes",    CELL_COUNT,  OF_STEP(job_peak_memory_bytes),     STEP, -1},
    {"low_device_bytes",         CELL_COUNT,  OF_STEP(low_device_bytes),          STEP, 0},
    {"high_device_bytes",        CELL_COUNT,  OF_STEP(high_device_bytes),         STEP, 0},
    {"host_memory_bytes",        CELL_COUNT,  OF_STEP(host_memory_bytes),         BOTH, -1},
    {"peak_stage",               CELL_TEXT,   OF_STEP(peak_stage),                BOTH, 0},
    {"param_count",              CELL_COUNT,  OF_STEP(param_count),               BOTH, 1},
    {"trainable_param_count",    CELL_COUNT,  OF_STEP(trainable_param_count),     BOTH, 1},
    {"weight_memory_bytes",      CELL_COUNT,  OF_STEP(weight_memory_bytes),       STEP, 0},
    {"buffer_memory_bytes",      CELL_COUNT,  OF_STEP(buffer_memory_bytes),       STEP, 0},
    {"grad_memory_bytes",        CELL_COUNT,  OF_STEP(grad_memory_bytes),         STEP, 0},
    {"optimizer_memory_bytes",   CELL_COUNT,  OF_STEP(optimizer_memory_bytes),    STEP, 0},
    {"activation_memory_bytes",  CELL_COUNT,  OF_STEP(activation_memory_bytes),   STEP, 0},
    {"temporary_memory_bytes",   CELL_COUNT,  OF_STEP(temporary_memory_bytes),    STEP, 0},
    {"saved_bytes",              CELL_COUNT,  OF_STEP(saved_bytes),               STEP, 0},
    {"allocator_retries",        CELL_COUNT,  OF_STEP(allocator_retries),         STEP, 0},
    {"tokens",                   CELL_COUNT,  OF_STEP(tokens),                    BOTH, 1},
    {"step_time_ms",             CELL_E4,     OWN(step_time_ms_e4),               BOTH, -1},
    {"tokens_per_s",             CELL_E4,     OWN(tokens_per_s_e4),               BOTH, 1},
    {"tokens_per_s_per_gpu",     CELL_E4,     OWN(tokens_per_s_per_gpu_e4),       BOTH, 1},
    {"usd_per_hour",             CELL_E4,     OWN(usd_per_hour_e4),               BOTH, -1},
    {"usd_per_million_tokens",   CELL_E4,     OWN(usd_per_million_tokens_e4),     BOTH, -1},
};
/* clang-format on */
enum { COLUMNS = sizeof columns / sizeof columns[0] };

int ms_row_preference(const char *name)
{
    for (size_t i = 0; i < COLUMNS; i++)
        if (strcmp(columns[i].name, name) == 0)
            return columns[i].preference;
    return 0;
}

const char *ms_row_objective_at(size_t index)
{
    for (size_t i = 0; i < COLUMNS; i++)
        if (columns[i].preference != 0 && index-- == 0)
            return columns[i].name;
    return NULL;
}

/* ---- cells ---- */

/* A format is how a cell is put. NULL and 0 in place of a time or rate: not known. */
typedef struct row_writer {
    FILE *out;
    ms_json_writer json;
    ms_row_format format;
    bool has_cells;
} row_writer;

static void separate(row_writer *w)
{
    if (w->has_cells)
        fputc(',', w->out);
    w->has_cells = true;
}

static void put_text(row_writer *w, const char *name, const char *text)
{
    if (w->format == MS_ROWS_JSONL) {
        ms_json_string(&w->json, name, text);
        return;
    }
    separate(w);
    if (text)
        ms_csv_put(w->out, text);
}

static void put_count(row_writer *w, const char *name, uint64_t count)
{
    if (w->format == MS_ROWS_JSONL) {
        ms_json_uint(&w->json, name, count);
        return;
    }
    separate(w);
    fprintf(w->out, "%" PRIu64, count);
}

static void put_signed(row_writer *w, const char *name, int64_t number)
{
    if (w->format == MS_ROWS_JSONL) {
        ms_json_int(&w->json, name, number);
        return;
    }
    separate(w);
    fprintf(w->out, "%" PRId64, number);
}

static void put_fits(row_writer *w, const char *name, ms_fit_verdict verdict)
{
    if (verdict == MS_VERDICT_UNKNOWN)
        put_text(w, name, NULL);
    else if (w->format == MS_ROWS_JSONL)
        ms_json_bool(&w->json, name, verdict >= MS_VERDICT_TIGHT);
    else
        put_text(w, name, verdict >= MS_VERDICT_TIGHT ? "true" : "false");
}

static void put_e4(row_writer *w, const char *name, uint64_t e4)
{
    if (e4 == 0) {
        put_text(w, name, NULL);
        return;
    }
    if (w->format == MS_ROWS_JSONL) {
        ms_json_double(&w->json, name, (double)e4 / 1e4, 4);
        return;
    }
    separate(w);
    fprintf(w->out, "%" PRIu64 ".%04" PRIu64, e4 / 10000, e4 % 10000);
}

static void put_figure(row_writer *w, const column *c, const ms_figures *figures)
{
    const char *member = (const char *)figures + c->offset;
    switch (c->kind) {
    case CELL_TEXT:
        put_text(w, c->name, *(const char *const *)(const void *)member);
        break;
    case CELL_COUNT:
        put_count(w, c->name, *(const uint64_t *)(const void *)member);
        break;
    case CELL_SIGNED:
        put_signed(w, c->name, *(const int64_t *)(const void *)member);
        break;
    case CELL_FITS:
        put_fits(w, c->name, *(const ms_fit_verdict *)(const void *)member);
        break;
    case CELL_VERDICT:
        put_text(w, c->name, ms_fit_verdict_name(*(const ms_fit_verdict *)(const void *)member));
        break;
    case CELL_REASON:
        put_text(w, c->name, ms_fit_reason_name(*(const ms_fit_reason *)(const void *)member));
        break;
    case CELL_E4:
        put_e4(w, c->name, *(const uint64_t *)(const void *)member);
        break;
    }
}

/* A count is a number, everything else the text that was given. */
static void put_input(row_writer *w, const ms_grid *grid, uint32_t input, const char *value)
{
    size_t field = ms_grid_input_field(grid, input);
    uint64_t count;
    if (value && ms_run_field_kind(field)->is_count &&
        ms_number_count(value, strlen(value), &count) == MS_COUNT_OK)
        put_count(w, ms_run_field_name(field), count);
    else
        put_text(w, ms_run_field_name(field), value);
}

/* ---- lines ---- */

static bool is_shown(const ms_row_layout *layout, const column *c)
{
    return (c->questions & (layout->question->what ? FIT : STEP)) != 0;
}

void ms_row_write_header(const ms_row_layout *layout, FILE *out)
{
    if (layout->format != MS_ROWS_CSV)
        return;
    fputs("sweep,point,points,status", out);
    for (uint32_t i = 0; i < ms_grid_input_count(layout->grid); i++)
        fprintf(out, ",%s", ms_run_field_name(ms_grid_input_field(layout->grid, i)));
    for (size_t i = 0; i < COLUMNS; i++)
        if (is_shown(layout, &columns[i]))
            fprintf(out, ",%s", columns[i].name);
    fputs(",error\n", out);
}

/* Where nothing fits there is no step to have figures of. */
static bool is_known(const ms_figures *figures, const column *c)
{
    bool is_of_step = c->offset >= OWN(summary) && c->offset != OF_STEP(budget_bytes);
    return !figures->what || figures->value > 0 || !is_of_step;
}

/* As on the command line: the place, then what is wrong. */
static void say(const ms_error *err, char *text, size_t size)
{
    char place[320] = "";
    if (err->file[0] && err->line)
        snprintf(place, sizeof place, "%s:%" PRIu32 ":%" PRIu32 ": ", err->file, err->line,
                 err->column);
    else if (err->file[0])
        snprintf(place, sizeof place, "%s: ", err->file);
    snprintf(text, size, "%s%s%s%s", place, err->pointer, err->pointer[0] ? ": " : "", err->text);
    for (char *c = text; *c; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
}

void ms_row_write(const ms_row_layout *layout, const ms_point *point, const ms_figures *figures,
                  const ms_error *err, FILE *out)
{
    char sweep[17], text[sizeof err->text + sizeof err->file + sizeof err->pointer + 64];
    row_writer w = {.out = out, .json = {.out = out}, .format = layout->format};
    bool is_error = err->status != MS_OK;
    snprintf(sweep, sizeof sweep, "%016" PRIx64, layout->sweep);
    if (w.format == MS_ROWS_JSONL)
        ms_json_object_inline(&w.json, NULL);
    put_text(&w, "sweep", sweep);
    put_count(&w, "point", point->index);
    put_count(&w, "points", layout->point_count);
    put_text(&w, "status", is_error ? "error" : "ok");
    for (uint32_t i = 0; i < ms_grid_input_count(layout->grid); i++)
        put_input(&w, layout->grid, i, point->settings[i].value);
    for (size_t i = 0; i < COLUMNS; i++) {
        if (is_shown(layout, &columns[i]) && (is_error || !is_known(figures, &columns[i])))
            put_text(&w, columns[i].name, NULL);
        else if (is_shown(layout, &columns[i]))
            put_figure(&w, &columns[i], figures);
    }
    say(err, text, sizeof text);
    put_text(&w, "error", is_error ? text : NULL);
    if (w.format == MS_ROWS_JSONL)
        ms_json_close(&w.json);
    fputc('\n', out);
}
