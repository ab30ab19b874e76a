/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans and curves as HTML pages, from the parts of an analysis's page.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "report/view/inputs.h"
#include "report/view/calibrated.h"
#include "report/view/fit_words.h"
#include "report/step/html_report.h"
#include "report/plan/plan_needs.h"
#include "report/plan/plan_suggestions.h"
#include "report/kit/writer_list.h"
#include "report/plan/html_plan_curves.h"
#include "report/plan/curve_svg.h"
#include "report/plan/plan_view.h"
#include "report/kit/category_id.h"

enum { BAR_PIECES = MS_CATEGORY_COUNT + 3 };

/* ---- bars of one scale ---- */

static size_t pieces_of(const ms_step_figures *f, ms_html_piece pieces[BAR_PIECES])
{
    size_t count = 0;
    uint64_t cached = f->reserved_bytes > f->peak_bytes ? f->reserved_bytes - f->peak_bytes : 0;
    for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
        pieces[count++] = (ms_html_piece){ms_json_category((uint8_t)c),
                                          ms_category_name((ms_category)c), f->category_bytes[c]};
    pieces[count++] = (ms_html_piece){"cached", "cached by the allocator", cached};
    pieces[count++] =
        (ms_html_piece){"context", "CUDA context", f->device_bytes - f->reserved_bytes};
    return count;
}

static uint64_t bar_scale(const ms_plan_view *v)
{
    uint64_t most = v->budget_bytes;
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        if (v->columns[i].figures->device_bytes > most)
            most = v->columns[i].figures->device_bytes;
    return most;
}

static void write_headroom(FILE *out, const ms_plan_view *v)
{
    ms_html_piece pieces[BAR_PIECES];
    size_t count = pieces_of(v->figures, pieces);
    uint64_t device = v->figures->device_bytes;
    uint64_t free_bytes = v->budget_bytes > device ? v->budget_bytes - device : 0;
    pieces[count++] = (ms_html_piece){"free", "free", free_bytes};
    ms_html_bar(out, v->verdict, pieces, count, device + free_bytes, v->budget_bytes);
}

static bool write_columns(FILE *out, const ms_plan_view *v)
{
    uint64_t scale = bar_scale(v);
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++) {
        ms_html_piece pieces[BAR_PIECES];
        size_t count = pieces_of(v->columns[i].figures, pieces);
        fprintf(out, "<h3>%s</h3>\n", v->columns[i].label);
        char size[MS_BYTES_TEXT], label[MS_BYTES_TEXT + 96];
        snprintf(label, sizeof label, "%s: %s of the device", v->columns[i].label,
                 ms_bytes_text(v->columns[i].figures->device_bytes, size));
        ms_html_bar(out, label, pieces, count, scale, v->budget_bytes);
    }
    return true;
}

/* ---- tables ---- */

static void figures_row(FILE *out, const ms_plan_view *v, const char *name,
                        const ms_step_figures *f, const char *text, bool is_same_run)
{
    char percent[MS_FIXED_TEXT];
    fputs("<tr><th scope=\"row\">", out);
    ms_xml_text(out, name);
    fputs("</th>", out);
    ms_html_bytes_cell(out, f->peak_bytes);
    ms_html_bytes_cell(out, f->reserved_bytes);
    ms_html_bytes_cell(out, f->device_bytes);
    ms_html_bytes_cell(out, f->host_bytes);
    ms_html_number_cell(out, f->time.step_ms > 0 ? f->time.step_ms : NAN, 3);
    double overhead = is_same_run ? ms_plan_overhead(v, f->time.step_ms) : NAN;
    fprintf(out, "<td class=\"n\">%s</td>", ms_plan_percent(overhead, percent));
    ms_html_cell(out, ms_fit_cell(ms_plan_reason(v, f)));
    ms_html_code_cell(out, text && *text ? text : "keep everything");
    fputs("</tr>\n", out);
}

static void figures_table(FILE *out, const char *caption, const char *first)
{
    char headings[160];
    snprintf(headings, sizeof headings,
             "%s|#peak|#reserved|#on the device|#on the host|#ms per step|#vs. keep all|fits|plan",
             first);
    ms_html_table(out, "sortable", caption, headings);
}

static bool write_figures(FILE *out, const ms_plan_view *v)
{
    figures_table(out, "Each simulated", "way");
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++) {
        const ms_step_figures *f = v->columns[i].figures;
        figures_row(out, v, v->columns[i].label, f, f->treat, true);
    }
    ms_html_end_table(out);
    return true;
}

static void alternatives_table(FILE *out, const ms_plan_view *v, const char *caption,
                               const char *first, const ms_vec_alternatives *items,
                               bool is_same_run)
{
    figures_table(out, caption, first);
    for (uint32_t i = 0; i < items->count; i++) {
        const ms_alternative *a = &items->items[i];
        const char *text = a->option && *a->option ? a->option : a->figures.treat;
        if (a->has_figures)
            figures_row(out, v, a->name, &a->figures, text, is_same_run);
        else
            fprintf(out, "<tr><th scope=\"row\">%s</th><td colspan=\"8\">nothing fits</td></tr>\n",
                    a->name);
    }
    ms_html_end_table(out);
}

static void decision_row(FILE *out, const ms_decision *d)
{
    char place[MS_PLAN_PLACE_TEXT];
    fprintf(out, "<tr><th scope=\"row\">%s</th>", ms_plan_place(d, place));
    ms_html_code_cell(out, d->treatment);
    ms_html_bytes_cell(out, d->freed_bytes);
    ms_html_bytes_cell(out, d->host_bytes);
    ms_html_number_cell(out, d->added_ms, 3);
    ms_html_cell(out, d->why ? d->why : "");
    fputs("</tr>\n", out);
}

static bool write_decisions(FILE *out, const ms_plan_view *v)
{
    ms_html_table(out, "sortable", "What frees most first",
                  "what|how|#freed|#on the host|#ms longer|why");
    for (uint32_t i = 0; i < v->plan->decisions.count; i++)
        decision_row(out, &v->plan->decisions.items[i]);
    ms_html_end_table(out);
    return true;
}

/* ---- the other sections ---- */

static bool write_timeline(FILE *out, const ms_plan_view *v)
{
    return ms_html_timeline(out, v->analysis);
}

static bool write_composition(FILE *out, const ms_plan_view *v)
{
    return ms_html_composition(out, v->analysis);
}

static bool write_treatments(FILE *out, const ms_plan_view *v)
{
    const char *treat = v->figures->treat;
    if (*treat || *v->moved) {
        fputs("<p class=\"note\">For <code>memscope analyze</code>:</p>\n<pre id=\"treat\">", out);
        ms_xml_text(out, v->moved);
        fputs(*v->moved && *treat ? "\n" : "", out);
        fputs(*treat ? "--treat " : "", out);
        ms_xml_text(out, treat);
        fputs("</pre>\n", out);
    }
    return ms_html_treatments(out, &v->figures->treatments, v->model->num_layers, v->arena);
}

static bool write_target(FILE *out, const ms_plan_view *v)
{
    fputs("<pre>", out);
    ms_xml_lines(out, v->plan->target_text);
    fputs("</pre>\n", out);
    return true;
}

static bool write_targets(FILE *out, const ms_plan_view *v)
{
    const ms_target_answers *targets = v->answer->targets;
    figures_table(out, "Best plan of each at the same budget", "trainer");
    for (uint32_t i = 0; i < targets->count; i++) {
        const ms_target_answer *a = &targets->items[i];
        if (a->plan.plan.treat)
            figures_row(out, v, a->target->name, &a->plan.plan, a->plan.plan.treat, true);
    }
    ms_html_end_table(out);
    for (uint32_t i = 0; i < targets->count; i++)
        if (targets->items[i].unsupported) {
            fprintf(out, "<p class=\"note\">%s is not compared: ", targets->items[i].target->name);
            ms_xml_text(out, targets->items[i].unsupported);
            fputs("</p>\n", out);
        }
    for (uint32_t i = 0; i < targets->count; i++) {
        const ms_target_answer *a = &targets->items[i];
        if (!a->plan.target_text || a->plan.outcome == MS_PLAN_INFEASIBLE)
            continue;
        fprintf(out, "<h3>%s</h3>\n<pre>", a->target->title);
        ms_xml_lines(out, a->plan.target_text);
        fputs("</pre>\n", out);
    }
    return true;
}

static bool write_suggestions(FILE *out, const ms_plan_view *v)
{
    alternatives_table(out, v, "Changes of the run, each simulated", "change",
                       &v->plan->suggestions, false);
    return true;
}

static bool write_compared(FILE *out, const ms_plan_view *v)
{
    alternatives_table(out, v, "At the same budget", "planner", &v->plan->compared, true);
    return true;
}

static void tell_point(FILE *out, const char *word, const ms_curve_point *point)
{
    char gib[MS_GIB_TEXT], ms[MS_FIXED_TEXT];
    fprintf(out, "%s %s ms with %s GiB", word, ms_fixed(point->figures.time.step_ms, 1, ms),
            ms_gib(point->budget_bytes, gib));
}

static bool write_curve(FILE *out, const ms_plan_view *v)
{
    fprintf(
        out,
        "<figure>\n<div class=\"wide\"><svg id=\"curve-svg\" class=\"picture\" viewBox=\"0 %d %d "
        "%d\" role=\"img\" aria-label=\"Time of a step against the budget",
        MS_CURVE_HEAD, MS_CURVE_WIDTH, MS_CURVE_HEIGHT - MS_CURVE_HEAD);
    if (v->curve->points.count > 0) {
        tell_point(out, ": from", &v->curve->points.items[0]);
        tell_point(out, " to", &v->curve->points.items[v->curve->points.count - 1]);
    }
    fputs(". The table below lists the points.\">\n" MS_DRAW_UNREAD, out);
    ms_curve_picture(out, v);
    fputs("</g></svg></div>\n</figure>\n", out);
    return true;
}

static bool write_points(FILE *out, const ms_plan_view *v)
{
    figures_table(out, "Each budget's fastest plan, simulated", "budget");
    for (uint32_t i = 0; i < v->curve->points.count; i++) {
        const ms_curve_point *p = &v->curve->points.items[i];
        char gib[MS_GIB_TEXT], name[MS_GIB_TEXT + 8];
        snprintf(name, sizeof name, "%s GiB", ms_gib(p->budget_bytes, gib));
        figures_row(out, v, name, &p->figures, p->figures.treat, true);
    }
    ms_html_end_table(out);
    return true;
}

static bool write_run(FILE *out, const ms_plan_view *v)
{
    ms_html_run(out, v->metadata, v->metadata_count);
    return true;
}

static bool write_inputs(FILE *out, const ms_plan_view *v)
{
    ms_inputs_html(out, &v->run->keys);
    return true;
}

static bool has_inputs(const ms_plan_view *v)
{
    return ms_inputs_are_there(&v->run->keys);
}

static bool write_not_modelled(FILE *out, const ms_plan_view *v)
{
    ms_html_not_modelled(out, v->analysis);
    return true;
}

/* ---- which are there ---- */

static bool is_plan(const ms_plan_view *v)
{
    return v->plan != NULL;
}

static bool is_timed_curve(const ms_plan_view *v)
{
    return v->curve && !v->run->device->has_assumed_rates && v->curve->points.count;
}

static bool is_curve(const ms_plan_view *v)
{
    return v->curve != NULL;
}

static bool has_analysis(const ms_plan_view *v)
{
    return v->analysis != NULL;
}

static bool has_kept(const ms_plan_view *v)
{
    return v->analysis != NULL && v->kept != NULL;
}

static bool has_decisions(const ms_plan_view *v)
{
    return v->plan && v->plan->decisions.count && !v->is_fallback;
}

static bool has_treatments(const ms_plan_view *v)
{
    return v->plan && v->figures->treatments.layers;
}

static bool has_needs(const ms_plan_view *v)
{
    return v->plan && ms_plan_has_needs(v);
}

static bool has_target(const ms_plan_view *v)
{
    return v->plan && v->target_title && v->plan->target_text && !v->is_infeasible;
}

static bool has_targets(const ms_plan_view *v)
{
    return v->plan && v->answer->targets && v->answer->targets->count;
}

static bool has_compared(const ms_plan_view *v)
{
    return v->plan && v->plan->compared.count;
}

static const struct {
    const char *id, *title;
    bool (*write)(FILE *out, const ms_plan_view *v);
    bool (*is_there)(const ms_plan_view *v); /* NULL: always */
} sections[] = {
    {"suggestions", NULL, write_suggestions, ms_plan_suggestions_lead}, /* title: see below */
    {"curve", "Time against memory", write_curve, is_timed_curve},
    {"points", "Budgets", write_points, is_curve},
    {"treatments", "How layers are treated", write_treatments, has_treatments},
    {"needs", "At run time", ms_plan_needs_html, has_needs},
    {"target", "For the trainer", write_target, has_target},
    {"suggestions", NULL, write_suggestions, ms_plan_suggestions_follow},
    {"both", "As planned, and with everything kept", ms_plan_both_html, has_kept},
    {"timeline", "Memory over the step as planned", write_timeline, has_analysis},
    {"peak", "What the peak is made of", write_composition, has_analysis},
    {"beside", "Compared with keeping or checkpointing all", write_columns, is_plan},
    {"ways", "In figures", write_figures, is_plan},
    {"decisions", "Why", write_decisions, has_decisions},
    {"trainers", "Trainers", write_targets, has_targets},
    {"planners", "Other planners", write_compared, has_compared},
    {"run", "The run", write_run, NULL},
    {"inputs", "How the files were read", write_inputs, has_inputs},
    {"not-modelled", "Not in these figures", write_not_modelled, has_analysis},
};
enum { SECTION_COUNT = sizeof sections / sizeof sections[0] };

static bool write_section(FILE *out, const void *view, size_t index)
{
    return sections[index].write(out, view);
}

bool ms_plan_html(FILE *out, const ms_plan_view *v)
{
    const ms_html_head head = {.title = v->title, .verdict = v->verdict, .tone = v->tone};
    ms_html_link links[SECTION_COUNT];
    for (size_t i = 0; i < SECTION_COUNT; i++)
        links[i] = (ms_html_link){sections[i].id,
                                  !sections[i].title && v->plan ? ms_plan_suggestions_title(v->plan)
                                                                : sections[i].title,
                                  sections[i].is_there && !sections[i].is_there(v)};
    ms_html_begin(out, &head);
    if (*v->why || v->analysis)
        ms_html_note(out, ms_fit_why_label, *v->why ? v->why : v->analysis->peak_why);
    if (v->run->several_gpus.text)
        ms_html_note(out, "Note:", v->run->several_gpus.text);
    ms_calibrated_html(out, v->run, v->arena);
    if (v->plan) {
        write_headroom(out, v);
        const char *const notes[] = {v->proof, v->margin, v->evaluation, v->steep};
        for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
            if (*notes[i])
                ms_html_paragraph(out, "note", notes[i]);
        if (*v->times_note && v->plan->plan.time.step_ms > 0)
            ms_html_paragraph(out, "note", v->times_note);
    }
    return ms_html_finish(out, links, SECTION_COUNT, MS_HTML_PREDICTED, v, write_section);
}
