/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/step/html_report.h"

#include <inttypes.h>
#include <math.h>

#include "input/config/model/model_config.h"
#include "report/kit/html.h"
#include "report/pictures/composition.h"
#include "report/pictures/picture.h"
#include "report/pictures/timeline_svg.h"
#include "report/step/html_timeline.h"
#include "report/view/summary.h"
#include "report/view/view.h"

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

bool ms_html_timeline(FILE *out, const void *view)
{
    const ms_view *v = view;
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

bool ms_html_composition(FILE *out, const void *view)
{
    const ms_view *v = view;
    fputs("<figure>\n", out);
    bool ok = write_composition(out, v, &ms_wide_pictures) &&
              write_composition(out, v, &ms_narrow_pictures);
    fputs("</figure>\n", out);
    categories_table(out, v);
    layers_table(out, v);
    return ok;
}

bool ms_html_summary(FILE *out, const void *view)
{
    const ms_view *v = view;
    const ms_summary *s = v->summary;
    static const char bytes[] = "_bytes";
    char text[MS_FIXED_TEXT];
    fputs("<dl>\n", out);
    for (uint32_t i = 0; i < ms_summary_table.count; i++) {
        const ms_member *m = &ms_summary_table.items[i];
        if (!m->title)
            continue;
        const uint64_t value = ms_member_count(m, s);
        fprintf(out, "<div><dt>%s</dt><dd>", m->title);
        if (strlen(m->name) < sizeof bytes ||
            strcmp(m->name + strlen(m->name) - strlen(bytes), bytes) != 0)
            fprintf(out, "<data id=\"%s\" value=\"%" PRIu64 "\">%" PRIu64 "</data>", m->name, value,
                    value);
        else
            ms_html_bytes(out, m->name, value);
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
    return true;
}

void ms_not_modelled_tree(ms_tree *tree, const ms_view *v, unsigned where)
{
    const char *text;
    ms_tree_section(tree, where, "not-modelled", "Not in these figures", "");
    for (size_t i = 0; (text = ms_ledger_not_modelled(v->ledger, i)) != NULL; i++)
        ms_tree_point(tree, where, text);
}
