/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/stream/stream_run.h"

#include <inttypes.h>

#include "report/stream/stream_times.h"
#include "base/text/number.h"

/* ---- bytes ---- */

/* Predicted and measured, where a row is whole. */
typedef struct pair {
    const char *key;
    uint64_t predicted, measured;
} pair;
enum { PAIRS = 4 };

/* The driver's figure grows by the most that is reserved, before the passes too. */
static void read_pairs(const ms_stream_row *row, const ms_stream_measured *m, pair pairs[PAIRS])
{
    const ms_replay_result *r = &m->result;
    uint64_t before = r->before_used_bytes + r->landing_bytes;
    uint64_t grown = r->most_used_bytes > before ? r->most_used_bytes - before : 0;
    pairs[0] = (pair){"peak_memory_bytes", m->predicted.peak_bytes, r->peak_bytes};
    pairs[1] =
        (pair){"reserved_memory_bytes", m->predicted.peak_reserved_bytes, r->peak_reserved_bytes};
    pairs[2] = (pair){"device_grown_bytes", m->predicted.most_reserved_bytes, grown};
    pairs[3] = (pair){"pinned_bytes", row->pinned_bytes, m->pinned_bytes};
}

static bool is_whole(const ms_stream_measured *m)
{
    return m->has_predicted && m->result.played_events == m->result.event_count;
}

static bool are_equal(const pair pairs[PAIRS])
{
    for (int i = 0; i < PAIRS; i++)
        if (pairs[i].predicted != pairs[i].measured)
            return false;
    return true;
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
    pair pairs[PAIRS];
    read_pairs(row, m, pairs);
    for (int measured = 0; measured < 2; measured++) {
        add_label(tree, table, row, measured);
        for (int i = 0; i < PAIRS; i++)
            ms_tree_cell(tree, table,
                         ms_cell_size(measured ? pairs[i].measured : pairs[i].predicted));
        ms_tree_cell(tree, table,
                     ms_cell_text(!measured          ? ""
                                  : are_equal(pairs) ? "equal"
                                                     : "differs"));
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

static void write_json_row(ms_json_writer *w, const ms_stream_row *row, const ms_stream_measured *m)
{
    pair pairs[PAIRS];
    read_pairs(row, m, pairs);
    ms_json_object(w, NULL);
    ms_json_uint(w, "prefetch", row->prefetch);
    ms_json_bool(w, "partial", !is_whole(m));
    for (int measured = 0; measured < 2; measured++) {
        if (!measured && !m->has_predicted) {
            ms_json_null(w, "predicted");
            continue;
        }
        ms_json_object(w, measured ? "measured" : "predicted");
        for (int i = 0; i < PAIRS; i++)
            ms_json_uint(w, pairs[i].key, measured ? pairs[i].measured : pairs[i].predicted);
        ms_json_close(w);
    }
    ms_json_uint(w, "checks", m->checks);
    if (m->is_timed) {
        ms_json_object(w, "times_ms");
        ms_stream_times_json(w, "predicted", &m->scheduled);
        ms_stream_times_json(w, "measured", &m->times);
        ms_json_double(w, "fill_host_buffers", m->fill_ms, 6);
        ms_json_close(w);
        ms_json_double(w, "link_gb_per_s", m->measured.link_bytes_per_s / 1e9, 6);
    } else {
        ms_json_null(w, "times_ms");
        ms_json_null(w, "link_gb_per_s");
    }
    ms_json_uint(w, "skipped_flops", m->result.skipped_flops);
    ms_json_close(w);
}

static const char *outcome_of(ms_status status)
{
    if (status == MS_OK)
        return "ran";
    if (status == MS_ERR_STOPPED)
        return "interrupted";
    return status == MS_ERR_OVER_BUDGET ? "out_of_memory" : "failed";
}

void ms_stream_run_json(ms_json_writer *w, const ms_stream_view *v)
{
    const ms_stream_run_view *ran = v->ran;
    ms_json_object(w, "run");
    ms_json_string(w, "outcome", outcome_of(ran->status));
    ms_json_string(w, "message", ran->status == MS_OK ? NULL : ran->message);
    ms_json_string(w, "backend", ran->backend);
    ms_json_string(w, "device_title", ran->facts->title);
    ms_json_string(w, "versions", ran->facts->versions);
    ms_json_bool(w, "simulated_device", ran->facts->is_simulated);
    ms_json_uint(w, "device_bytes", ran->facts->total_bytes);
    ms_json_string(w, "weights", ran->weights);
    ms_json_uint(w, "timed_passes", ran->timed_passes);
    ms_json_uint(w, "checked_passes", ran->checked_passes);
    ms_json_array(w, "rows");
    for (uint32_t i = 0; i < ran->count; i++)
        write_json_row(w, &v->table->rows.items[i], &ran->rows[i]);
    ms_json_close(w);
    ms_json_close(w);
}

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
    pair pairs[PAIRS];
    ms_stream_times_list(&m->times, ms);
    read_pairs(&(ms_stream_row){0}, m, pairs);
    for (int i = 0; i < PAIRS; i++)
        fprintf(out, ",%" PRIu64, pairs[i].measured);
    fprintf(out, ",%" PRIu64, m->checks);
    for (int i = 0; i < MS_STREAM_TIMES; i++) {
        char text[MS_FIXED_TEXT];
        fprintf(out, ",%s", m->is_timed ? ms_fixed(ms[i], 6, text) : "");
    }
}
