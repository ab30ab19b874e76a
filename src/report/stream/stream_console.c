/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A streamed model for people, and its table as CSV.
 */
#include <inttypes.h>
#include <string.h>

#include "report/kit/tree/tree_writers.h"
#include "report/kit/writer_list.h"
#include "report/stream/stream_run.h"
#include "report/stream/stream_times.h"
#include "report/stream/stream_view.h"
#include "report/view/fit_words.h"
#include "report/view/times.h"
#include "base/text/number.h"

/* ---- for people ---- */

/* Figures are as wide as their names, and wide enough. On a narrow page a table is in two. */
#define AHEAD                                                                                      \
    {                                                                                              \
        "ahead", .before = 2, .width = 5, .is_figure = true                                        \
    }
#define FIGURE(head, columns)                                                                      \
    {                                                                                              \
        head, .before = 1, .width = columns, .is_figure = true                                     \
    }
enum { FIRST = 5 }; /* columns of the first of two */

static ms_tree_table *begin_table(ms_tree *tree, const char *caption, const ms_tree_column *columns,
                                  uint32_t count)
{
    ms_tree_table *table = ms_tree_begin_table(tree, MS_ON_ALL, caption, columns, count);
    if (table) {
        table->is_fixed = table->has_dim_head = true;
        table->split = FIRST;
    }
    return table;
}

static void add_memory(ms_tree *tree, const ms_stream_table *t)
{
    static const ms_tree_column columns[] = {AHEAD,
                                             FIGURE("layers", 7),
                                             FIGURE("outside", 7),
                                             FIGURE("cache", 7),
                                             FIGURE("others", 7),
                                             FIGURE("allocated", 9),
                                             FIGURE("reserved", 8),
                                             FIGURE("device", 7),
                                             {"fits", .before = 2}};
    ms_tree_section(tree, MS_ON_ALL, "device", "On the device", "GiB, at the peak of a pass");
    ms_tree_table *table = begin_table(tree, "At the peak of a pass, by layers ahead", columns,
                                       sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const ms_stream_row *r = &t->rows.items[i];
        const uint64_t bytes[] = {r->places_bytes,
                                  r->outside_bytes,
                                  r->cache_bytes,
                                  r->other_bytes,
                                  r->peak_bytes,
                                  r->reserved_bytes,
                                  r->judgement.device_bytes.expected};
        ms_tree_cell(tree, table, ms_cell_count(r->prefetch));
        for (size_t k = 0; k < sizeof bytes / sizeof bytes[0]; k++)
            ms_tree_cell(tree, table, ms_cell_gib(bytes[k]));
        ms_tree_cell(tree, table, ms_cell_text(ms_fit_cell(r->judgement.reason)));
    }
}

static void add_times(ms_tree *tree, const ms_stream_table *t)
{
    /* Those of ms_stream_times_list, and the last. */
    static const ms_tree_column columns[] = {
        AHEAD,
        FIGURE("computing", 9),
        FIGURE("copies", 7),
        FIGURE("hidden", 7),
        FIGURE("exposed", 7),
        FIGURE("together", 8),
        FIGURE("first", 7),
        FIGURE("tokens/s", 8),
    };
    ms_tree_section(tree, MS_ON_ALL, "times", "A pass",
                    "ms, in the steady state; tokens/s at most");
    ms_tree_table *table =
        begin_table(tree, "Milliseconds in the steady state, by layers ahead; tokens/s at most",
                    columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const ms_stream_row *r = &t->rows.items[i];
        double figures[MS_STREAM_TIMES + 1];
        ms_stream_times_list(&r->times, figures);
        figures[MS_STREAM_TIMES] = r->tokens_per_s;
        ms_tree_cell(tree, table, ms_cell_count(r->prefetch));
        for (size_t k = 0; k <= MS_STREAM_TIMES; k++)
            ms_tree_cell(tree, table, ms_cell_number(figures[k], 2));
    }
}

static void add_host(ms_tree *tree, const ms_stream_table *t)
{
    static const ms_tree_column columns[] = {
        {"", .before = 2, .width = 30, .wide_head = "what"},
        {"", .before = 1, .width = 9, .is_figure = true, .wide_head = "on the host"}};
    uint64_t most = 0;
    for (uint32_t i = 0; i < t->rows.count; i++)
        most = t->rows.items[i].pinned_bytes > most ? t->rows.items[i].pinned_bytes : most;
    ms_tree_section(tree, MS_ON_ALL, "host", "On the host", "GiB");
    ms_tree_table *table =
        begin_table(tree, "Memory of the host", columns, sizeof columns / sizeof columns[0]);
    if (table) {
        table->has_no_head = true;
        table->split = 0;
    }
    ms_tree_cell(tree, table, ms_cell_text("weights of the layers"));
    ms_tree_cell(tree, table, ms_cell_gib(t->pass.layers_bytes));
    ms_tree_cell(tree, table, ms_cell_text("pinned buffers, at most"));
    ms_tree_cell(tree, table, ms_cell_gib(most));
    ms_tree_cell(tree, table, ms_cell_text("the largest layer"));
    ms_tree_cell(tree, table, ms_cell_gib(t->pass.slot_bytes));
    ms_tree_cell(tree, table, ms_cell_text("layers"));
    ms_tree_cell(tree, table, ms_cell_count(t->pass.layers.count));
}

/* The answer is the verdict where no budget is known. */
static void add_answer(const ms_stream_view *v, ms_tree *tree)
{
    const char *title = ms_stream_title(v), *answer = ms_stream_answer(v);
    const char *advice = ms_stream_advice(v), *verdict = ms_stream_verdict(v);
    const bool has_verdict = verdict && *verdict, fits = ms_stream_fits(v);
    const bool hides = v->table->enough.hides;
    const ms_tone tone = has_verdict ? fits ? MS_TONE_GOOD : MS_TONE_BAD
                         : hides     ? MS_TONE_GOOD
                                     : MS_TONE_TIGHT;
    ms_tree_head(tree, "memscope", title, has_verdict ? verdict : answer,
                 tone == MS_TONE_GOOD  ? MS_VERDICT_FITS
                 : tone == MS_TONE_BAD ? MS_VERDICT_NO
                                       : MS_VERDICT_TIGHT);
    ms_tree_line(tree, MS_ON_CONSOLE, title);
    ms_tree_answer(tree, tone, tree->verdict);
    if (has_verdict)
        ms_tree_paragraph(tree, MS_ON_ALL, answer);
    if (!advice || *advice)
        ms_tree_paragraph(tree, MS_ON_ALL, advice);
}

static ms_tree build(const ms_stream_view *v)
{
    const ms_stream_table *t = v->table;
    const char *times = ms_times_text(v->arena, v->run);
    ms_tree tree = ms_tree_begin(v->arena);
    add_answer(v, &tree);
    add_memory(&tree, t);
    if (t->pass.is_timed)
        add_times(&tree, t);
    if (!times || *times)
        ms_tree_paragraph(&tree, MS_ON_ALL, times);
    add_host(&tree, t);
    if (v->ran)
        ms_stream_run_tree(&tree, v);
    return tree;
}

MS_TREE_WRITERS(ms_stream, ms_stream_view, build, v->style)

/* ---- CSV ---- */

static void write_csv_times(FILE *out, const ms_stream_table *t, const ms_stream_row *r)
{
    double numbers[MS_STREAM_TIMES + 1];
    ms_stream_times_list(&r->times, numbers);
    numbers[MS_STREAM_TIMES] = r->tokens_per_s;
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
