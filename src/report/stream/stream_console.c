/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A streamed model as console text, and its table as CSV.
 */
#include <inttypes.h>
#include <string.h>

#include "report/kit/writer_list.h"
#include "report/stream/stream_run.h"
#include "report/stream/stream_times.h"
#include "report/stream/stream_view.h"
#include "report/view/fit_words.h"
#include "report/view/times.h"
#include "base/text/number.h"

/* ---- at a terminal ---- */

/* Columns of figures, as wide as their names, and wide enough for figures. */
static const char *const memory_columns[] = {"layers",    "outside",  "cache", "others",
                                             "allocated", "reserved", "device"};
enum {
    MEMORY_COLUMNS = sizeof memory_columns / sizeof memory_columns[0],
    LEAST_WIDTH = 7,
    WIDE = 72, /* columns of the page that a whole table takes; on a narrower one it is in two */
    FIRST = 4  /* figures of the first of two */
};

static int width_of(const char *name)
{
    int length = (int)strlen(name);
    return length < LEAST_WIDTH ? LEAST_WIDTH : length;
}

/* Figures of a row from `begin` on, up to `end`. */
typedef void (*row_writer)(const ms_page *p, const ms_stream_table *t, const ms_stream_row *r,
                           size_t begin, size_t end);

/* A table whose columns have names; `last` is the head of what stands behind them all. */
typedef struct columns {
    const char *const *names;
    size_t count;
    const char *last;
    row_writer write_row;
} columns;

static void write_part(const ms_page *p, const ms_stream_table *t, const columns *c, size_t begin,
                       size_t end)
{
    fprintf(p->out, "  %s%5s", ms_page_tone(p, MS_TONE_DIM), "ahead");
    for (size_t i = begin; i < end; i++)
        fprintf(p->out, " %*s", width_of(c->names[i]), c->names[i]);
    fprintf(p->out, "%s%s\n", end == c->count ? c->last : "", ms_page_tone(p, MS_TONE_END));
    for (uint32_t i = 0; i < t->rows.count; i++) {
        fprintf(p->out, "  %5" PRIu64, t->rows.items[i].prefetch);
        c->write_row(p, t, &t->rows.items[i], begin, end);
        fputc('\n', p->out);
    }
}

static void write_columns(const ms_page *p, const ms_stream_table *t, const columns *c)
{
    size_t first = p->columns >= WIDE ? c->count : FIRST;
    write_part(p, t, c, 0, first);
    if (first < c->count)
        write_part(p, t, c, first, c->count);
}

static void write_memory_row(const ms_page *p, const ms_stream_table *t, const ms_stream_row *r,
                             size_t begin, size_t end)
{
    (void)t;
    const uint64_t bytes[MEMORY_COLUMNS] = {r->places_bytes,
                                            r->outside_bytes,
                                            r->cache_bytes,
                                            r->other_bytes,
                                            r->peak_bytes,
                                            r->reserved_bytes,
                                            r->judgement.device_bytes.expected};
    for (size_t i = begin; i < end; i++) {
        char text[MS_GIB_TEXT];
        fprintf(p->out, " %*s", width_of(memory_columns[i]), ms_gib(bytes[i], text));
    }
    if (end == MEMORY_COLUMNS)
        fprintf(p->out, "  %s", ms_fit_cell(r->judgement.reason));
}

static void write_memory(const ms_page *p, const ms_stream_table *t)
{
    ms_page_heading(p, "On the device", "  (GiB, at the peak of a pass)");
    write_columns(p, t, &(columns){memory_columns, MEMORY_COLUMNS, "  fits", write_memory_row});
}

/* Those of ms_stream_times_list, and the last. */
static const char *const time_columns[MS_STREAM_TIMES + 1] = {
    "computing", "copies", "hidden", "exposed", "together", "first", "tokens/s"};

static void write_time_row(const ms_page *p, const ms_stream_table *t, const ms_stream_row *r,
                           size_t begin, size_t end)
{
    double figures[MS_STREAM_TIMES + 1];
    char text[MS_FIXED_TEXT];
    ms_stream_times_list(&r->times, figures);
    figures[MS_STREAM_TIMES] = ms_stream_tokens_per_s(t, r);
    for (size_t i = begin; i < end; i++)
        fprintf(p->out, " %*s", width_of(time_columns[i]), ms_fixed(figures[i], 2, text));
}

static void write_times(const ms_page *p, const ms_stream_table *t)
{
    ms_page_heading(p, "A pass", "  (ms, in the steady state; tokens/s at most)");
    write_columns(p, t, &(columns){time_columns, MS_STREAM_TIMES + 1, "", write_time_row});
}

static void write_host(const ms_page *p, const ms_stream_table *t)
{
    char weights[MS_GIB_TEXT], pinned[MS_GIB_TEXT], slot[MS_GIB_TEXT];
    uint64_t most = 0;
    for (uint32_t i = 0; i < t->rows.count; i++)
        most = t->rows.items[i].pinned_bytes > most ? t->rows.items[i].pinned_bytes : most;
    ms_page_heading(p, "On the host", "  (GiB)");
    fprintf(p->out, "  %-30s %9s\n", "weights of the layers",
            ms_gib(t->pass.layers_bytes, weights));
    fprintf(p->out, "  %-30s %9s\n", "pinned buffers, at most", ms_gib(most, pinned));
    fprintf(p->out, "  %-30s %9s\n", "the largest layer", ms_gib(t->pass.slot_bytes, slot));
    fprintf(p->out, "  %-30s %9" PRIu32 "\n", "layers", t->pass.layers.count);
}

bool ms_stream_console(FILE *out, const ms_stream_view *v)
{
    const ms_page page = ms_page_begin(out, v->style);
    const ms_stream_table *t = v->table;
    const char *title = ms_stream_title(v), *answer = ms_stream_answer(v);
    const char *times = ms_times_text(v->arena, v->run), *advice = ms_stream_advice(v);
    const char *verdict = ms_stream_verdict(v);
    if (!title || !answer || !times || !advice || !verdict)
        return false;
    if (*verdict) {
        ms_page_title(&page, title, ms_stream_fits(v) ? MS_TONE_GOOD : MS_TONE_BAD, verdict);
        ms_page_paragraph(&page, answer);
    } else {
        ms_page_title(&page, title, t->enough.hides ? MS_TONE_GOOD : MS_TONE_TIGHT, answer);
    }
    if (*advice)
        ms_page_paragraph(&page, advice);
    write_memory(&page, t);
    if (t->pass.is_timed)
        write_times(&page, t);
    if (*times)
        ms_page_paragraph(&page, times);
    write_host(&page, t);
    if (v->ran)
        ms_stream_run_console(&page, v);
    return true;
}

/* ---- CSV ---- */

static void write_csv_times(FILE *out, const ms_stream_table *t, const ms_stream_row *r)
{
    double numbers[MS_STREAM_TIMES + 1];
    ms_stream_times_list(&r->times, numbers);
    numbers[MS_STREAM_TIMES] = ms_stream_tokens_per_s(t, r);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[MS_FIXED_TEXT];
        fprintf(out, ",%s", t->pass.is_timed ? ms_fixed(numbers[i], 6, text) : "");
    }
}

bool ms_stream_csv(FILE *out, const ms_stream_view *v)
{
    const ms_stream_table *t = v->table;
    fputs("prefetch,places,stays,fits,verdict,verdict_reason,places_bytes,outside_bytes,cache_"
          "bytes,other_bytes,peak_memory_bytes,reserved_memory_bytes,expected_device_bytes,host_"
          "weight_bytes,pinned_bytes,compute_ms,copy_ms,hidden_ms,exposed_ms,pass_ms,first_pass_"
          "ms,tokens_per_s",
          out);
    if (v->ran)
        ms_stream_run_csv_names(out);
    fputc('\n', out);
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const ms_stream_row *r = &t->rows.items[i];
        const uint64_t bytes[] = {r->places_bytes,
                                  r->outside_bytes,
                                  r->cache_bytes,
                                  r->other_bytes,
                                  r->peak_bytes,
                                  r->reserved_bytes,
                                  r->judgement.device_bytes.expected,
                                  t->pass.layers_bytes,
                                  r->pinned_bytes};
        ms_fit_reason reason = r->judgement.reason;
        fprintf(out, "%" PRIu64 ",%" PRIu32 ",%s,%s,%s,%s", r->prefetch, r->places,
                r->stays ? "true" : "false", ms_reason_fits(reason) ? "true" : "false",
                ms_fit_verdict_name(ms_reason_verdict(reason)), ms_fit_reason_name(reason));
        for (size_t k = 0; k < sizeof bytes / sizeof bytes[0]; k++)
            fprintf(out, ",%" PRIu64, bytes[k]);
        write_csv_times(out, t, r);
        if (v->ran)
            ms_stream_run_csv(out, v->ran, i);
        fputc('\n', out);
    }
    return true;
}
