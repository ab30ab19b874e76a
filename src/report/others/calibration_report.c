/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/others/calibration_report.h"

#include <inttypes.h>

#include "base/json/members.h"
#include "memscope/calibrate.h"
#include "report/kit/tree/tree_writers.h"
#include "report/kit/documents.h"
#include "report/kit/writer_list.h"

/* ---- for people ---- */

static ms_cell value_cell(ms_parameter_kind kind, double value)
{
    if (ms_parameter_rows[kind].is_bytes)
        return ms_cell_size((uint64_t)value);
    if (kind == MS_PARAMETER_HOST_LINK || kind == MS_PARAMETER_PEER_LINK)
        return ms_cell_number(value / 1e9, 2);
    return ms_cell_number(value, 4);
}

static const char *unit_of(ms_parameter_kind kind)
{
    return kind == MS_PARAMETER_HOST_LINK || kind == MS_PARAMETER_PEER_LINK ? ", GB/s" : "";
}

static void add_parameters(ms_tree *tree, const ms_calibration *c)
{
    static const ms_tree_column columns[] = {
        {"", .before = 2, .width = 35, .wide_head = "parameter"},
        {"value", .before = 1, .width = 10, .is_figure = true},
        {"from", .before = 2, .width = 10, .goes = 2, .is_figure = true},
        {"to", .before = 2, .width = 10, .goes = 2, .is_figure = true},
        {"points", .before = 2, .width = 6, .goes = 1, .is_figure = true}};
    ms_tree_section(tree, MS_ON_ALL, "parameters", "Parameters",
                    "from, to: range of the fits that leave out one point");
    ms_tree_table *table =
        ms_tree_begin_table(tree, MS_ON_ALL, "From, to: range of the fits that leave out one point",
                            columns, sizeof columns / sizeof columns[0]);
    for (int i = 0; i < MS_PARAMETER_COUNT; i++) {
        const ms_fitted *f = &c->parameters[i];
        ms_parameter_kind kind = (ms_parameter_kind)i;
        if (f->points == 0)
            continue;
        ms_tree_cell(
            tree, table,
            ms_cell_text(ms_tree_text(tree, "%s%s", ms_parameter_rows[i].title, unit_of(kind))));
        ms_tree_cell(tree, table, value_cell(kind, f->value));
        ms_tree_cell(tree, table, value_cell(kind, f->low));
        ms_tree_cell(tree, table, value_cell(kind, f->high));
        ms_tree_cell(tree, table, ms_cell_count(f->points));
    }
}

static void add_error(ms_tree *tree, ms_tree_table *table, const ms_calibration_error *e)
{
    ms_tree_cell(tree, table, ms_cell_number(100 * e->mean, 2));
    ms_tree_cell(tree, table, ms_cell_number(100 * e->worst, 2));
}

static void add_quality(ms_tree *tree, const ms_calibration_result *r)
{
    static const ms_tree_column columns[] = {
        {"", .before = 2, .width = 24, .wide_head = "figure"},
        {"", .before = 1, .width = 8, .goes = 1, .is_figure = true, .wide_head = "before, mean"},
        {"before", .before = 1, .width = 7, .goes = 1, .is_figure = true,
         .wide_head = "before, worst"},
        {"", .before = 1, .width = 8, .is_figure = true, .wide_head = "after, mean"},
        {"after", .before = 1, .width = 7, .is_figure = true, .wide_head = "after, worst"},
        {"", .before = 1, .width = 8, .is_figure = true, .wide_head = "left out, mean"},
        {"left out", .before = 0, .width = 8, .is_figure = true, .wide_head = "left out, worst"}};
    ms_tree_section(tree, MS_ON_ALL, "errors", "Errors", "% of the measured value: mean, worst");
    ms_tree_table *table = ms_tree_begin_table(tree, MS_ON_ALL, "% of the measured value", columns,
                                               sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < r->quality_count; i++) {
        const ms_calibration_quality *q = &r->qualities[i];
        ms_tree_cell(tree, table, ms_cell_text(q->figure));
        add_error(tree, table, &q->before);
        add_error(tree, table, &q->after);
        add_error(tree, table, &q->held_out);
    }
    ms_tree_paragraph(tree, MS_ON_ALL, "left out: each point is predicted by a fit to the others");
}

static void add_sentences(ms_tree *tree, const char *id, const char *title,
                          const char *const *texts, uint32_t count)
{
    if (count > 0)
        ms_tree_section(tree, MS_ON_ALL, id, title, "");
    for (uint32_t i = 0; i < count; i++)
        ms_tree_paragraph(tree, MS_ON_ALL, texts[i]);
}

static ms_tree build(const ms_calibration_view *view)
{
    const ms_calibration_result *r = view->result;
    const uint32_t points = r->calibration.points;
    ms_tree tree = ms_tree_begin(NULL);
    const char *verdict = ms_tree_text(&tree, "calibrated with %" PRIu32 " measured step%s", points,
                                       points == 1 ? "" : "s");
    ms_tree_head(&tree, "memscope", r->calibration.device, verdict, MS_VERDICT_FITS);
    tree.made_from = "from measured steps";
    ms_tree_line(&tree, MS_ON_CONSOLE,
                 ms_tree_text(&tree, "%s: %s", r->calibration.device, verdict ? verdict : ""));
    add_parameters(&tree, &r->calibration);
    if (r->quality_count > 0)
        add_quality(&tree, r);
    add_sentences(&tree, "not-fitted", "Not fitted", r->notes, r->note_count);
    add_sentences(&tree, "unusual", "Outside the usual range", r->remarks, r->remark_count);
    return tree;
}

MS_TREE_WRITERS(ms_calibration, ms_calibration_view, build, v->style)

/* ---- JSON ---- */

static const ms_member error_members[] = {
    MS_MEMBER(ms_calibration_error, "mean", mean, .decimals = 6),
    MS_MEMBER(ms_calibration_error, "worst", worst, .decimals = 6),
};
static const ms_members error_table =
    MS_MEMBERS(ms_calibration_error, error_members, .is_inline = true);

#define QUALITY(...) MS_MEMBER(ms_calibration_quality, __VA_ARGS__)
static const ms_member quality_members[] = {
    QUALITY("figure", figure),
    QUALITY("points", points),
    QUALITY("before", before, .inner = &error_table),
    QUALITY("after", after, .inner = &error_table),
    QUALITY("left_out", held_out, .inner = &error_table),
};
static const ms_members quality_table = MS_MEMBERS(ms_calibration_quality, quality_members);

#define LIST(...) MS_ROWS(ms_calibration_result, __VA_ARGS__, .rules = MS_INSIDE)
static const ms_member document_members[] = {
    MS_MEMBER(ms_calibration_result, NULL, calibration, .inner = &ms_calibration_table),
    LIST("residuals", qualities, quality_count, &quality_table),
    LIST("not_fitted", notes, note_count, &ms_plain_texts),
    LIST("unusual", remarks, remark_count, &ms_plain_texts),
};
const ms_members ms_calibration_document = MS_MEMBERS(ms_calibration_result, document_members);

bool ms_calibration_json(FILE *out, const ms_calibration_view *view)
{
    return ms_members_document(out, MS_CALIBRATION_SCHEMA_VERSION, &ms_calibration_document,
                               view->result);
}
