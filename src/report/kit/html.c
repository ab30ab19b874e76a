/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/html.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "input/config/treatment/row.h"
#include "base/json/embedded.h"
#include "memscope/memscope.h"
#include "input/config/treatment/treatment.h"

/* ---- the page ---- */

/* What the page may do: nothing but show itself. */
static const char policy[] =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

void ms_html_begin(FILE *out, const ms_html_head *head)
{
    static const char *const classes[] = {[MS_VERDICT_NO] = "bad",
                                          [MS_VERDICT_UNKNOWN] = "bad",
                                          [MS_VERDICT_TIGHT] = "tight",
                                          [MS_VERDICT_FITS] = "good"};
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n"
            "<meta name=\"generator\" content=\"memscope " MS_VERSION "\">\n"
            "<link rel=\"icon\" href=\"data:,\">\n<title>",
            policy);
    ms_xml_text(out, head->title);
    fprintf(out,
            "</title>\n<style>\n%s%s</style>\n<noscript><style>section "
            "{ content-visibility: visible }</style></noscript>\n</head>\n<body>\n",
            ms_embedded_style_find("picture"), ms_embedded_style_find("page"));
    fputs("<a class=\"skip\" href=\"#main\">Skip to the sections</a>\n<header>\n<h1>", out);
    ms_xml_text(out, head->title);
    fprintf(out, "</h1>\n<p class=\"verdict %s\" id=\"verdict\">", classes[head->tone]);
    ms_xml_text(out, head->verdict);
    fputs("</p>\n", out);
}

static void write_links(FILE *out, const ms_html_link *links, size_t count)
{
    fputs(count ? "<nav aria-label=\"Sections\"><ul>\n" : "", out);
    for (size_t i = 0; i < count; i++) {
        if (links[i].is_left_out)
            continue;
        fprintf(out, "<li><a href=\"#%s\">", links[i].id);
        ms_xml_text(out, links[i].title);
        fputs("</a></li>\n", out);
    }
    fputs(count ? "</ul></nav>\n" : "", out);
    fputs("</header>\n<main id=\"main\" tabindex=\"-1\">\n", out);
}

bool ms_html_finish(FILE *out, const ms_html_link *links, size_t count, const char *made_from,
                    const void *view, bool (*write)(FILE *out, const void *view, size_t index))
{
    bool ok = true;
    write_links(out, links, count);
    for (size_t i = 0; ok && i < count; i++) {
        const char *id = links[i].id;
        if (links[i].is_left_out)
            continue;
        fprintf(out, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">", id,
                id, id);
        ms_xml_text(out, links[i].title);
        fputs("</h2>\n", out);
        ok = write(out, view, i);
        fputs("</section>\n", out);
    }
    fprintf(out,
            "</main>\n<footer>Made by memscope " MS_VERSION ", offline, %s.</footer>\n"
            "<script>\n%s</script>\n</body>\n</html>\n",
            made_from, ms_embedded_script_find("page"));
    return ok;
}

void ms_html_paragraph(FILE *out, const char *class_name, const char *text)
{
    fprintf(out, "<p%s%s%s>", *class_name ? " class=\"" : "", class_name, *class_name ? "\"" : "");
    ms_xml_text(out, text);
    fputs("</p>\n", out);
}

void ms_html_note(FILE *out, const char *label, const char *text)
{
    fprintf(out, "<p class=\"note\"><strong>%s</strong> ", label);
    ms_xml_text(out, text);
    fputs("</p>\n", out);
}

/* ---- values and tables ---- */

void ms_html_bytes(FILE *out, const char *id, uint64_t bytes)
{
    char text[MS_BYTES_TEXT];
    fprintf(out, "<data%s%s%s value=\"%" PRIu64 "\">%s</data>", id ? " id=\"" : "", id ? id : "",
            id ? "\"" : "", bytes, ms_bytes_text(bytes, text));
}

void ms_html_cell(FILE *out, const char *text)
{
    fputs("<td>", out);
    ms_xml_text(out, text);
    fputs("</td>", out);
}

void ms_html_code_cell(FILE *out, const char *text)
{
    fputs("<td><code>", out);
    ms_xml_text(out, text);
    fputs("</code></td>", out);
}

void ms_html_bytes_cell(FILE *out, uint64_t bytes)
{
    fputs("<td class=\"n\">", out);
    ms_html_bytes(out, NULL, bytes);
    fputs("</td>", out);
}

void ms_html_count_cell(FILE *out, uint64_t count)
{
    fprintf(out, "<td class=\"n\"><data value=\"%" PRIu64 "\">%" PRIu64 "</data></td>", count,
            count);
}

void ms_html_number_cell(FILE *out, double value, uint32_t decimals)
{
    char exact[MS_FIXED_TEXT], shown[MS_FIXED_TEXT];
    fprintf(out, "<td class=\"n\"><data value=\"%s\">%s</data></td>",
            ms_fixed(isnan(value) ? 0 : value, 3, exact), ms_fixed(value, decimals, shown));
}

/* The headings as the style reads them where a table has no room for columns: --h1:'name'. */
static void write_heads(FILE *out, const ms_html_column *columns, uint32_t count)
{
    fputs(" style=\"", out);
    for (uint32_t i = 0; i < count; i++) {
        const char *head = columns[i].head;
        if (*head)
            fprintf(out, "--h%" PRIu32 ":'", i + 1);
        for (const char *at = head; *at; at++)
            if ((unsigned char)*at >= ' ' && !strchr("'\"\\<&", *at))
                fputc(*at, out);
        fputs(*head ? "';" : "", out);
    }
    fputs("\"", out);
}

void ms_html_begin_table(FILE *out, const char *class_name, const char *caption,
                         const ms_html_column *columns, uint32_t count)
{
    fprintf(out, "<div class=\"wide\"><table%s%s%s", *class_name ? " class=\"" : "", class_name,
            *class_name ? "\"" : "");
    write_heads(out, columns, count);
    fputs(">\n<caption>", out);
    ms_xml_text(out, caption);
    fputs("</caption>\n<thead><tr>", out);
    for (uint32_t i = 0; i < count; i++) {
        if (!*columns[i].head) {
            fputs("<td></td>", out); /* a corner is no heading */
            continue;
        }
        fprintf(out, "<th scope=\"col\"%s>", columns[i].is_number ? " class=\"n\"" : "");
        ms_xml_text(out, columns[i].head);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

void ms_html_table(FILE *out, const char *class_name, const char *caption, const char *headings)
{
    enum { MOST_COLUMNS = 32, MOST_HEADINGS = 1024 };
    char text[MOST_HEADINGS];
    ms_html_column columns[MOST_COLUMNS];
    uint32_t count = 0;
    snprintf(text, sizeof text, "%s", headings);
    for (char *at = text; at && *at && count < MOST_COLUMNS;) {
        char *next = strchr(at, '|');
        if (next)
            *next++ = '\0';
        columns[count].is_number = *at == '#';
        columns[count++].head = at + (*at == '#');
        at = next;
    }
    ms_html_begin_table(out, class_name, caption, columns, count);
}

void ms_html_end_table(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}

/* ---- bars ---- */

static void put_percent(FILE *out, uint64_t part, uint64_t whole)
{
    char text[MS_FIXED_TEXT];
    double share = whole ? 100 * (double)part / (double)whole : 0; /* for a width: no count */
    fprintf(out, "%s%%", ms_fixed(share, 2, text));
}

/* A screen reader reads the label alone. `is_told`: with the pieces. */
static void put_bar(FILE *out, const char *label, const ms_html_piece *pieces, size_t count,
                    uint64_t whole_bytes, uint64_t limit_bytes, bool is_told)
{
    char text[MS_BYTES_TEXT];
    fputs("<div class=\"bar\" role=\"img\" aria-label=\"", out);
    ms_xml_text(out, label);
    const char *before = ": ";
    for (size_t i = 0; is_told && i < count; i++) {
        if (pieces[i].bytes == 0)
            continue;
        fprintf(out, "%s%s %s", before, pieces[i].title, ms_bytes_text(pieces[i].bytes, text));
        before = ", ";
    }
    fputs("\">", out);
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].bytes == 0)
            continue;
        fprintf(out, "<span aria-hidden=\"true\" class=\"%s\" title=\"%s: %s\" style=\"width:",
                pieces[i].class_name, pieces[i].title, ms_bytes_text(pieces[i].bytes, text));
        put_percent(out, pieces[i].bytes, whole_bytes);
        fputs("\"></span>", out);
    }
    if (limit_bytes && limit_bytes < whole_bytes) {
        fputs("<b aria-hidden=\"true\" title=\"budget\" style=\"left:", out);
        put_percent(out, limit_bytes, whole_bytes);
        fputs("\"></b>", out);
    }
    fputs("</div>\n", out);
}

void ms_html_small_bar(FILE *out, const char *label, const ms_html_piece *pieces, size_t count,
                       uint64_t whole_bytes, uint64_t limit_bytes)
{
    put_bar(out, label, pieces, count, whole_bytes, limit_bytes, true);
}

void ms_html_bar(FILE *out, const char *label, const ms_html_piece *pieces, size_t count,
                 uint64_t whole_bytes, uint64_t limit_bytes)
{
    put_bar(out, label, pieces, count, whole_bytes, limit_bytes, false);
    fputs("<ul class=\"legend\">\n", out);
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].bytes == 0)
            continue;
        fprintf(out, "<li><i class=\"%s\"></i>%s ", pieces[i].class_name, pieces[i].title);
        ms_html_bytes(out, NULL, pieces[i].bytes);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

/* ---- the run ---- */

void ms_html_run(FILE *out, const ms_field *fields, uint32_t count)
{
    fputs("<dl>\n", out);
    for (uint32_t i = 0; i < count; i++) {
        char value[120];
        if (fields[i].group == MS_FIELD_DETAIL)
            continue;
        ms_field_value(&fields[i], value, sizeof value);
        fputs("<div><dt>", out);
        ms_xml_text(out, fields[i].name);
        fputs("</dt><dd>", out);
        ms_xml_text(out, value);
        fputs("</dd></div>\n", out);
    }
    fputs("</dl>\n", out);
}

/* ---- treatments ---- */

bool ms_html_is_treated(const ms_treatments *treatments, uint64_t num_layers)
{
    const ms_treatment keep = {.kind = MS_TREAT_KEEP};
    for (uint64_t i = 0; treatments->layers && i < num_layers; i++)
        if (!ms_treatment_equal(&treatments->layers[i], &keep))
            return true;
    return treatments->loss_chunks > 0;
}

static uint64_t run_end(const ms_treatments *treatments, uint64_t num_layers, uint64_t first)
{
    uint64_t i = first + 1;
    while (i < num_layers && ms_treatment_equal(&treatments->layers[first], &treatments->layers[i]))
        i++;
    return i;
}

/* ", in tiles", or ", the MLP again". */
static void parts_again(FILE *out, const ms_treatment *t)
{
    if (ms_treatment_has_parts(t, true)) {
        fputs(", in tiles", out);
        return;
    }
    for (int i = 0; i < MS_PART_COUNT; i++)
        if (t->parts[i])
            fprintf(out, ", the %s again", ms_treatment_parts[i]->noun);
}

static void strip(FILE *out, const ms_treatments *treatments, uint64_t num_layers)
{
    fprintf(out,
            "<div class=\"strip\" role=\"img\" aria-label=\"How each of %" PRIu64 " layers is "
            "treated; the table below lists the same\">",
            num_layers);
    for (uint64_t i = 0; i < num_layers; i++) {
        const ms_treatment *t = &treatments->layers[i];
        const char *name = ms_treatment_kinds[t->kind].word;
        bool has_parts = ms_treatment_has_parts(t, false) || ms_treatment_has_parts(t, true);
        fprintf(out, "<span aria-hidden=\"true\" class=\"t-%s%s\" title=\"layer %" PRIu64 ": %s",
                name, has_parts ? " t-tile" : "", i, name);
        parts_again(out, t);
        fputs("\"></span>", out);
    }
    fputs("</div>\n", out);
}

bool ms_html_treatments(FILE *out, const ms_treatments *treatments, uint64_t num_layers,
                        ms_arena *arena)
{
    strip(out, treatments, num_layers);
    ms_html_table(out, "", "Layers in order", "layers|#how many|treatment");
    for (uint64_t i = 0; i < num_layers;) {
        uint64_t end = run_end(treatments, num_layers, i);
        const char *text = ms_treatment_text(&treatments->layers[i], arena);
        if (!text)
            return false;
        fprintf(out, "<tr><th scope=\"row\">%" PRIu64, i);
        if (end - i > 1)
            fprintf(out, "-%" PRIu64, end - 1);
        fputs("</th>", out);
        ms_html_count_cell(out, end - i);
        ms_html_code_cell(out, text);
        fputs("</tr>\n", out);
        i = end;
    }
    if (treatments->loss_chunks)
        fprintf(out,
                "<tr><th scope=\"row\">loss</th><td></td><td><code>chunk:%" PRIu32
                "</code></td></tr>\n",
                treatments->loss_chunks);
    ms_html_end_table(out);
    return true;
}
