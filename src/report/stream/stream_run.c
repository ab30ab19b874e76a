/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/stream/stream_run.h"

#include <inttypes.h>
#include <string.h>

#include "report/stream/stream_times.h"
#include "base/text/number.h"

/* ---- bytes ---- */

enum { MEMORIES = 4 };
static const char *const memory_names[MEMORIES] = {"peak_memory_bytes", "reserved_memory_bytes",
                                                   "device_grown_bytes", "pinned_bytes"};
static const ms_words memory_words = {memory_names, MEMORIES, 0, 0};

/* Predicted where a row is whole. */
typedef struct pairs {
    uint64_t predicted[MEMORIES], measured[MEMORIES];
} pairs;

/* The driver's figure grows by the most that is reserved, before the passes too. */
static pairs pairs_of(const ms_stream_row *row, const ms_stream_measured *m)
{
    const ms_replay_result *r = &m->result;
    uint64_t before = r->before_used_bytes + r->landing_bytes;
    uint64_t grown = r->most_used_bytes > before ? r->most_used_bytes - before : 0;
    return (pairs){{m->predicted.peak_bytes, m->predicted.peak_reserved_bytes,
                    m->predicted.most_reserved_bytes, row->pinned_bytes},
                   {r->peak_bytes, r->peak_reserved_bytes, grown, m->pinned_bytes}};
}

static bool is_whole(const ms_stream_measured *m)
{
    return m->has_predicted && m->result.played_events == m->result.event_count;
}

/* ---- for people ---- */

#define LABELS                                                                                     \
    {"ahead", .before = 2, .width = 5, .is_figure = true},                                         \
    {                                                                                              \
        "", .before = 1, .width = 9                                                                \
    }
#define FIGURE(head, columns)                                                                      \
    {                                                                                              \
        head, .before = 1, .width = columns, .is_figure = true                                     \
    }

/* On one line, however long. */
#define say(tree, ...) ms_tree_verbatim(tree, MS_ON_ALL, ms_tree_text(tree, __VA_ARGS__))

static ms_tree_table *begin_table(ms_tree *tree, const char *caption, const ms_tree_column *columns,
                                  uint32_t count)
{
    ms_tree_table *table = ms_tree_begin_table(tree, MS_ON_ALL, caption, columns, count);
    if (table)
        table->is_fixed = table->has_dim_head = true;
    return table;
}

static void add_label(ms_tree *tree, ms_tree_table *table, const ms_stream_row *row,
                      bool is_measured)
{
    ms_tree_cell(tree, table, is_measured ? ms_cell_none() : ms_cell_count(row->prefetch));
    ms_tree_cell(tree, table, ms_cell_text(is_measured ? "measured" : "predicted"));
}

static void add_bytes_row(ms_tree *tree, ms_tree_table *table, const ms_stream_row *row,
                          const ms_stream_measured *m)
{
    const pairs p = pairs_of(row, m);
    const bool are_equal = memcmp(p.predicted, p.measured, sizeof p.measured) == 0;
    for (int measured = 0; measured < 2; measured++) {
        add_label(tree, table, row, measured);
        for (int i = 0; i < MEMORIES; i++)
            ms_tree_cell(tree, table, ms_cell_size(measured ? p.measured[i] : p.predicted[i]));
        ms_tree_cell(tree, table, ms_cell_text(!measured ? "" : are_equal ? "equal" : "differs"));
    }
}

static void add_bytes(ms_tree *tree, const ms_stream_view *v)
{
    static const ms_tree_column columns[] = {LABELS,
                                             FIGURE("allocated", 11),
                                             FIGURE("reserved", 11),
                                             FIGURE("device", 11),
                                             FIGURE("pinned", 11),
                                             {"", .before = 2}};
    ms_tree_section(tree, MS_ON_ALL, "ran", "Measured memory",
                    "device: as reported by its driver, from the build on");
    ms_tree_table *table = begin_table(tree, "Device: as reported by its driver, from the build on",
                                       columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < v->ran->count; i++)
        if (is_whole(&v->ran->rows[i]))
            add_bytes_row(tree, table, &v->table->rows.items[i], &v->ran->rows[i]);
}

static void add_times_row(ms_tree *tree, ms_tree_table *table, const ms_stream_row *row,
                          const ms_stream_measured *m)
{
    for (int measured = 0; measured < 2; measured++) {
        double ms[MS_STREAM_TIMES];
        ms_stream_times_list(measured ? &m->times : &m->scheduled, ms);
        add_label(tree, table, row, measured);
        for (int i = 0; i < MS_STREAM_TIMES; i++)
            ms_tree_cell(tree, table, ms_cell_number(ms[i], 2));
    }
}

static bool is_timed(const ms_stream_run_view *ran, uint32_t row)
{
    return is_whole(&ran->rows[row]) && ran->rows[row].is_timed;
}

static void add_times(ms_tree *tree, const ms_stream_view *v)
{
    static const ms_tree_column columns[] = {LABELS,
                                             FIGURE("computing", 9),
                                             FIGURE("copies", 9),
                                             FIGURE("hidden", 9),
                                             FIGURE("exposed", 9),
                                             FIGURE("together", 9),
                                             FIGURE("first", 9)};
    if (!is_timed(v->ran, 0))
        return;
    ms_tree_section(tree, MS_ON_ALL, "ran-times", "Measured pass",
                    "ms; the prediction is from its layers and copies");
    ms_tree_table *table =
        begin_table(tree, "Milliseconds; the prediction is from its layers and copies", columns,
                    sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < v->ran->count; i++)
        if (is_timed(v->ran, i))
            add_times_row(tree, table, &v->table->rows.items[i], &v->ran->rows[i]);
    if (v->ran->rows[0].result.skipped_flops > 0)
        ms_tree_verbatim(tree, MS_ON_ALL,
                         "  attention was replayed as memory traffic, without its arithmetic");
}

static void add_partial(ms_tree *tree, const ms_stream_view *v)
{
    const ms_stream_run_view *ran = v->ran;
    const ms_replay_result *r = &ran->rows[ran->count - 1].result;
    char peak[MS_BYTES_TEXT], reserved[MS_BYTES_TEXT];
    ms_tree_gap(tree);
    ms_tree_verbatim(tree, MS_ON_ALL, ms_tree_text(tree, "  partial: %s", ran->message));
    if (r->played_events < r->event_count)
        say(tree,
            "  with %" PRIu64 " ahead, %" PRIu32 " of %" PRIu32
            " events; by then allocated %s, reserved %s at most",
            v->table->rows.items[ran->count - 1].prefetch, r->played_events, r->event_count,
            ms_bytes_text(r->peak_bytes, peak), ms_bytes_text(r->most_reserved_bytes, reserved));
}

static void add_checks(ms_tree *tree, const ms_stream_run_view *ran)
{
    uint64_t checks = 0;
    for (uint32_t i = 0; i < ran->count; i++)
        checks += ran->rows[i].checks;
    if (checks > 0 && ran->status == MS_OK) {
        ms_tree_gap(tree);
        say(tree,
            "  each layer's bytes were compared before and after it computed: all %" PRIu64
            " digests match the host's",
            checks);
    }
    if (ran->facts->is_simulated) {
        ms_tree_gap(tree);
        ms_tree_verbatim(
            tree, MS_ON_ALL,
            "  nothing runs on this device: no times were measured and no bytes compared");
    }
}

void ms_stream_run_tree(ms_tree *tree, const ms_stream_view *v)
{
    const ms_stream_run_view *ran = v->ran;
    char total[MS_BYTES_TEXT];
    ms_tree_section(tree, MS_ON_ALL, "executed", "Executed", "");
    say(tree, "  on %s: %s, %s", ran->facts->title, ran->facts->versions,
        ms_bytes_text(ran->facts->total_bytes, total));
    say(tree, "  weights: %s; passes: %" PRIu32 " timed, %" PRIu32 " checked",
        ran->weights ? ran->weights : "memory of the host", ran->timed_passes, ran->checked_passes);
    if (is_whole(&ran->rows[0])) {
        add_bytes(tree, v);
        add_times(tree, v);
    }
    if (ran->status != MS_OK)
        add_partial(tree, v);
    add_checks(tree, ran);
}

/* ---- JSON ---- */

#define MEASURED(...) MS_MEMBER(ms_stream_measured, __VA_ARGS__)
static const ms_member time_members[] = {
    MEASURED("predicted", scheduled, .inner = &ms_stream_times_table),
    MEASURED("measured", times, .inner = &ms_stream_times_table),
    MEASURED("fill_host_buffers", fill_ms, .decimals = 6),
};
static const ms_members time_table = MS_MEMBERS(ms_stream_measured, time_members);

typedef struct row {
    const ms_stream_measured *of;
    uint64_t prefetch;
    bool is_partial, has_predicted;
    pairs pairs;
} row;

#define IF_TIMED .rules = MS_OR_NULL, .when = MS_PLACE(ms_stream_measured, is_timed), OF_ROW
#define OF_ROW .from = MS_FROM(row, of)
static const ms_member row_members[] = {
    MS_MEMBER(row, "prefetch", prefetch),
    MS_MEMBER(row, "partial", is_partial),
    MS_FIGURES(row, "predicted", pairs.predicted, &memory_words, .rules = MS_OR_NULL,
               .when = MS_PLACE(row, has_predicted)),
    MS_FIGURES(row, "measured", pairs.measured, &memory_words),
    MEASURED("checks", checks, OF_ROW),
    MS_PART("times_ms", &time_table, IF_TIMED),
    MEASURED("link_gb_per_s", measured.link_bytes_per_s, .per = 1e9, .decimals = 6, IF_TIMED),
    MEASURED("skipped_flops", result.skipped_flops, OF_ROW),
};
static const ms_members row_table = MS_MEMBERS(row, row_members);

static void row_make(const void *view, const void *measured, void *made)
{
    const ms_stream_view *v = view;
    const ms_stream_measured *m = measured;
    const ms_stream_row *of = &v->table->rows.items[m - v->ran->rows];
    *(row *)made = (row){m, of->prefetch, !is_whole(m), m->has_predicted, pairs_of(of, m)};
}

static const ms_member each_members[] = {MS_PART(NULL, &row_table, .make_of = row_make)};
static const ms_members each_table = MS_MEMBERS(ms_stream_measured, each_members);

static void write_outcome(ms_json_writer *w, const char *name, const void *ran)
{
    const ms_status status = ((const ms_stream_run_view *)ran)->status;
    ms_json_string(w, name,
                   status == MS_OK                ? "ran"
                   : status == MS_ERR_STOPPED     ? "interrupted"
                   : status == MS_ERR_OVER_BUDGET ? "out_of_memory"
                                                  : "failed");
}

#define RAN(...) MS_MEMBER(ms_stream_run_view, __VA_ARGS__)
#define FACT(...)                                                                                  \
    MS_MEMBER(ms_backend_facts, __VA_ARGS__, .from = MS_FROM(ms_stream_run_view, facts))
static const ms_member ran_members[] = {
    MS_WRITTEN("outcome", write_outcome),
    RAN("message", message, .rules = MS_OR_NULL, .when = MS_PLACE(ms_stream_run_view, status)),
    RAN("backend", backend),
    FACT("device_title", title),
    FACT("versions", versions),
    FACT("simulated_device", is_simulated),
    FACT("device_bytes", total_bytes),
    RAN("weights", weights, .rules = MS_OR_NULL),
    RAN("timed_passes", timed_passes),
    RAN("checked_passes", checked_passes),
    MS_ROWS(ms_stream_run_view, "rows", rows, count, &each_table),
};
const ms_members ms_stream_run_table = MS_MEMBERS(ms_stream_run_view, ran_members);

/* ---- CSV ---- */

void ms_stream_run_csv_names(FILE *out)
{
    fputs(",run_peak_memory_bytes,run_reserved_memory_bytes,run_device_grown_bytes,run_pinned_"
          "bytes,run_checks,run_compute_ms,run_copy_ms,run_hidden_ms,run_exposed_ms,run_pass_ms,"
          "run_first_pass_ms",
          out);
}

void ms_stream_run_csv(FILE *out, const ms_stream_run_view *ran, uint32_t index)
{
    static const char none[] = ",,,,,,,,,,,";
    const ms_stream_measured *m = index < ran->count ? &ran->rows[index] : NULL;
    if (!m || !is_whole(m)) {
        fputs(none, out);
        return;
    }
    double ms[MS_STREAM_TIMES];
    ms_stream_times_list(&m->times, ms);
    const pairs p = pairs_of(&(ms_stream_row){0}, m);
    for (int i = 0; i < MEMORIES; i++)
        fprintf(out, ",%" PRIu64, p.measured[i]);
    fprintf(out, ",%" PRIu64, m->checks);
    for (int i = 0; i < MS_STREAM_TIMES; i++) {
        char text[MS_FIXED_TEXT];
        fprintf(out, ",%s", m->is_timed ? ms_fixed(ms[i], 6, text) : "");
    }
}
