/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The HTML page of an analysis: verdict first, then pictures, then tables.
 */
#include "report/step/html_report.h"

#include <inttypes.h>
#include <math.h>

#include "input/config/model/model_config.h"
#include "report/view/inputs.h"
#include "report/pictures/composition.h"
#include "report/pictures/timeline_svg.h"
#include "report/step/html_operators.h"
#include "report/step/html_timeline.h"
#include "report/ranks/communication.h"
#include "report/ranks/one_device_table.h"
#include "report/ranks/rank_table.h"
#include "report/view/calibrated.h"
#include "report/view/times.h"
#include "report/view/fit_words.h"
#include "report/view/suggestions.h"
#include "report/pictures/picture.h"
#include "report/kit/writer_list.h"
#include "report/view/view.h"
#include "report/view/summary.h"
#include "report/kit/category_id.h"

static void write_findings(FILE *out, const ms_view *v)
{
    for (uint32_t i = 0; i < v->finding_count; i++)
        ms_html_note(out, "Note:", v->findings[i].text);
}

void ms_html_headroom(FILE *out, const ms_view *v)
{
    const ms_summary *s = v->summary;
    const ms_peak *peak = v->ledger->peak;
    ms_html_piece pieces[MS_CATEGORY_COUNT + 3];
    size_t count = 0;
    for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
        pieces[count++] =
            (ms_html_piece){ms_json_category((uint8_t)c), ms_category_name((ms_category)c),
                            peak->category_bytes[c]};
    uint64_t reserved = s->reserved_memory_bytes, device = s->expected_device_bytes;
    uint64_t cached = reserved > peak->bytes ? reserved - peak->bytes : 0;
    pieces[count++] = (ms_html_piece){"cached", "cached by the allocator", cached};
    pieces[count++] = (ms_html_piece){"context", "CUDA context", device - reserved};
    uint64_t free_bytes = s->budget_bytes > device ? s->budget_bytes - device : 0;
    pieces[count++] = (ms_html_piece){"free", "free", free_bytes};
    ms_html_bar(out, v->verdict, pieces, count, device + free_bytes, s->budget_bytes);
}

static void write_timeline(FILE *out, const ms_view *v, const ms_picture_shape *shape,
                           const char *sentence)
{
    fprintf(out,
            "<svg id=\"%s\" class=\"picture timeline %s\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-label=\"",
            shape->is_narrow ? "timeline-narrow" : "timeline-svg", shape->name, shape->width,
            shape->timeline_height);
    ms_xml_text(out, sentence);
    fputs("\">\n" MS_DRAW_UNREAD, out);
    ms_picture_timeline(out, v, shape);
    if (!shape->is_narrow)
        ms_picture_legend(out, v, (ms_spot){shape->plot.x, shape->timeline_height - 4});
    fputs("</g></svg>\n", out);
}

bool ms_html_timeline(FILE *out, const ms_view *v)
{
    const char *sentence = ms_timeline_sentence(v);
    if (!sentence)
        return false;
    fputs("<figure>\n", out);
    write_timeline(out, v, &ms_wide_pictures, sentence);
    write_timeline(out, v, &ms_narrow_pictures, sentence);
    fputs("<div class=\"reading\" id=\"reading\"></div>\n<figcaption>", out);
    ms_xml_text(out, sentence);
    fputs(" Dotted: reserved memory.</figcaption>\n</figure>\n", out);
    return ms_html_timeline_data(out, v);
}

static void categories_table(FILE *out, const ms_view *v)
{
    ms_html_table(out, "", "By category", "category|tensors|#bytes|#share");
    for (uint32_t i = 0; i < v->category_count; i++) {
        const ms_view_row *row = &v->categories[i];
        fprintf(out, "<tr><th scope=\"row\">%s</th>", row->label);
        ms_html_cell(out, row->detail);
        ms_html_bytes_cell(out, row->bytes);
        uint32_t share = ms_permille(row->bytes, v->ledger->peak->bytes);
        fprintf(out, "<td class=\"n\">%" PRIu32 ".%" PRIu32 " %%</td></tr>\n", share / 10,
                share % 10);
    }
    ms_html_end_table(out);
}

static void layers_table(FILE *out, const ms_view *v)
{
    ms_html_table(out, "", "By layer", "where|#bytes");
    for (uint32_t i = 0; i < v->layer_count; i++) {
        fputs("<tr><th scope=\"row\">", out);
        ms_xml_text(out, v->layers[i].label);
        fputs("</th>", out);
        ms_html_bytes_cell(out, v->layers[i].bytes);
        fputs("</tr>\n", out);
    }
    ms_html_end_table(out);
}

enum { MOST_TOLD = 3 };

static bool write_composition(FILE *out, const ms_view *v, const ms_picture_shape *shape)
{
    char size[MS_BYTES_TEXT];
    fprintf(out,
            "<svg class=\"picture composition %s\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-label=\"What is alive at the peak, as areas",
            shape->name, shape->width, shape->composition_height);
    for (uint32_t i = 0; i < v->category_count && i < MOST_TOLD; i++)
        fprintf(out, "%s%s %s", i ? ", " : ": ", v->categories[i].label,
                ms_bytes_text(v->categories[i].bytes, size));
    fputs(". The table below has all categories.\">\n" MS_DRAW_UNREAD, out);
    bool ok = ms_picture_composition(out, v, shape);
    fputs("</g></svg>\n", out);
    return ok;
}

bool ms_html_composition(FILE *out, const ms_view *v)
{
    fputs("<figure>\n", out);
    bool ok = write_composition(out, v, &ms_wide_pictures) &&
              write_composition(out, v, &ms_narrow_pictures);
    fputs("</figure>\n", out);
    categories_table(out, v);
    layers_table(out, v);
    return ok;
}

static void phases_table(FILE *out, const ms_view *v)
{
    const ms_usage *usage = v->ledger->usage;
    ms_html_table(out, "", "Allocated when it begins, at most and when it ends; reserved at most",
                  "phase|#micro-step|#begin|#peak|#end|#reserved");
    for (uint32_t i = usage->first_steady_phase; i < usage->phases.count; i++) {
        const ms_phase_usage *u = &usage->phases.items[i];
        bool is_micro = u->phase == MS_PHASE_FORWARD || u->phase == MS_PHASE_BACKWARD;
        char number[MS_MICRO_STEP_TEXT];
        fprintf(out, "<tr><th scope=\"row\">%s</th><td class=\"n\">%s</td>",
                ms_phase_name((ms_phase)u->phase), is_micro ? ms_micro_step_text(u, number) : "");
        ms_html_bytes_cell(out, u->start_bytes);
        ms_html_bytes_cell(out, u->peak_bytes);
        ms_html_bytes_cell(out, u->end_bytes);
        ms_html_bytes_cell(out, u->peak_reserved_bytes);
        fputs("</tr>\n", out);
    }
    ms_html_end_table(out);
}

static void summary_list(FILE *out, const ms_view *v)
{
    const ms_summary *s = v->summary;
    const ms_summary_row *row;
    char text[MS_FIXED_TEXT];
    fputs("<dl>\n", out);
    for (size_t i = 0; (row = ms_summary_row_at(i)) != NULL; i++) {
        uint64_t value = ms_summary_value(s, row);
        fprintf(out, "<div><dt>%s</dt><dd>", row->title);
        if (row->is_count)
            fprintf(out, "<data id=\"%s\" value=\"%" PRIu64 "\">%" PRIu64 "</data>", row->name,
                    value, value);
        else
            ms_html_bytes(out, row->name, value);
        fputs("</dd></div>\n", out);
    }
    if (s->budget_bytes) {
        fputs("<div><dt>budget</dt><dd>", out);
        ms_html_bytes(out, "budget_bytes", s->budget_bytes);
        fputs("</dd></div>\n", out);
    }
    fprintf(out, "<div><dt>time of a step (ms)</dt><dd>%s</dd></div>\n",
            ms_fixed(s->step_time_ms > 0 ? s->step_time_ms : NAN, 3, text));
    fprintf(out, "<div><dt>tokens per second, of all GPUs</dt><dd>%s</dd></div>\n</dl>\n",
            ms_fixed(s->tokens_per_s > 0 ? s->tokens_per_s : NAN, 1, text));
}

void ms_html_not_modelled(FILE *out, const ms_view *v)
{
    const char *text;
    fputs("<ul>\n", out);
    for (size_t i = 0; (text = ms_ledger_not_modelled(v->ledger, i)) != NULL; i++) {
        fputs("<li>", out);
        ms_xml_text(out, text);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

/* ---- sections ---- */

static bool write_phases(FILE *out, const ms_view *v)
{
    phases_table(out, v);
    return true;
}

static bool write_summary(FILE *out, const ms_view *v)
{
    summary_list(out, v);
    return true;
}

static bool write_advice(FILE *out, const ms_view *v)
{
    ms_suggestions_html(out, v);
    return true;
}

static bool write_treatments(FILE *out, const ms_view *v)
{
    return ms_html_treatments(out, &v->ledger->run->treatments, v->ledger->model->num_layers,
                              v->arena);
}

static bool write_run(FILE *out, const ms_view *v)
{
    ms_html_run(out, v->metadata, v->metadata_count);
    return true;
}

static bool write_inputs(FILE *out, const ms_view *v)
{
    ms_inputs_html(out, &v->ledger->run->keys);
    return true;
}

static bool has_inputs(const ms_view *v)
{
    return ms_inputs_are_there(&v->ledger->run->keys);
}

static bool write_not_modelled(FILE *out, const ms_view *v)
{
    ms_html_not_modelled(out, v);
    return true;
}

static bool has_treatments(const ms_view *v)
{
    return ms_html_is_treated(&v->ledger->run->treatments, v->ledger->model->num_layers);
}

static const struct {
    const char *id, *title;
    bool (*write)(FILE *out, const ms_view *v);
    bool (*is_there)(const ms_view *v); /* NULL: always */
} sections[] = {
    {"advice", NULL, write_advice, ms_suggestions_lead}, /* title: ms_suggestions_title */
    {"timeline", "Memory over the step", ms_html_timeline, NULL},
    {"peak", "What the peak is made of", ms_html_composition, NULL},
    {"ranks", "Ranks", ms_rank_table_html, ms_rank_table_is_there},
    {"one-device", "Compared with one device", ms_one_device_html, ms_one_device_is_there},
    {"communication", "Communication of a step", ms_communication_html, ms_communication_is_there},
    {"treatments", "How layers are treated", write_treatments, has_treatments},
    {"advice", NULL, write_advice, ms_suggestions_follow},
    {"phases", "Phases of a step", write_phases, NULL},
    {"operators", "Operators", ms_html_operators, NULL},
    {"figures", "All figures", write_summary, NULL},
    {"run", "The run", write_run, NULL},
    {"inputs", "How the files were read", write_inputs, has_inputs},
    {"not-modelled", "Not in these figures", write_not_modelled, NULL},
};
enum { SECTION_COUNT = sizeof sections / sizeof sections[0] };

static bool write_section(FILE *out, const void *view, size_t index)
{
    return sections[index].write(out, view);
}

static void write_times(FILE *out, const ms_view *v)
{
    const char *text = ms_times_text(v->arena, v->ledger->run);
    if (text && *text)
        ms_html_paragraph(out, "note", text);
}

bool ms_report_html(FILE *out, const ms_view *v)
{
    const ms_html_head head = {
        .title = v->title, .verdict = v->verdict, .tone = v->summary->verdict};
    ms_html_link links[SECTION_COUNT];
    for (size_t i = 0; i < SECTION_COUNT; i++)
        links[i] = (ms_html_link){sections[i].id,
                                  sections[i].title ? sections[i].title : ms_suggestions_title(v),
                                  sections[i].is_there && !sections[i].is_there(v)};
    ms_html_begin(out, &head);
    if (*v->why)
        ms_html_note(out, ms_fit_why_label, v->why);
    write_findings(out, v);
    ms_html_headroom(out, v);
    ms_calibrated_html(out, v->ledger->run, v->arena);
    write_times(out, v);
    return ms_html_finish(out, links, SECTION_COUNT, MS_HTML_PREDICTED, v, write_section);
}
