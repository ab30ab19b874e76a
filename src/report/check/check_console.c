/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A check as console text, and as Markdown.
 */
#include <inttypes.h>

#include "base/text/size.h"
#include "report/check/check_view.h"
#include "report/kit/writer_list.h"
#include "report/diff/diff_view.h"
#include "report/kit/markdown.h"
#include "report/kit/page.h"

enum { MOST_DETAILS = 50, OUTCOME_WIDTH = 8, SIZE_WIDTH = 11, LEAST_NAME = 12 };
enum { SIZES_WIDTH = 4 * (SIZE_WIDTH + 1) };

/* "-" for what is not there. */
static const char *size_text(uint64_t bytes, bool known, char text[MS_SIZE_TEXT_BYTES])
{
    return known ? ms_size_format(bytes, text, MS_SIZE_TEXT_BYTES) : "-";
}

static const char *left_text(const ms_verdict *v, char text[MS_CHANGE_TEXT])
{
    if (v->outcome == MS_OUTCOME_FAILED || v->limit_bytes == 0)
        return "-";
    return ms_change_text(v->used_bytes, v->limit_bytes, text);
}

/* ---- console ---- */

static ms_tone tone_of(const ms_verdict *v)
{
    return v->outcome >= MS_OUTCOME_UNKNOWN  ? MS_TONE_BAD
           : ms_is_problem(v)                ? MS_TONE_BOLD
           : v->outcome == MS_OUTCOME_PASSED ? MS_TONE_GOOD
                                             : MS_TONE_DIM;
}

/* Where it is less than LEAST_NAME, a name has a line of its own. */
static uint32_t name_width(const ms_page *p)
{
    return ms_page_room(p, p->columns, 2 + OUTCOME_WIDTH + SIZES_WIDTH);
}

static void write_row(const ms_page *p, const ms_verdict *v)
{
    char expected[MS_SIZE_TEXT_BYTES], upper[MS_SIZE_TEXT_BYTES], limit[MS_SIZE_TEXT_BYTES];
    char left[MS_CHANGE_TEXT];
    bool known = v->outcome != MS_OUTCOME_FAILED;
    uint32_t width = name_width(p);
    fprintf(p->out, "  %s%-*s%s", ms_page_tone(p, tone_of(v)), OUTCOME_WIDTH,
            ms_outcome_names[v->outcome], ms_page_tone(p, MS_TONE_END));
    if (width < LEAST_NAME) {
        ms_page_last_cell(p, v->budget->name, p->columns - 2 - OUTCOME_WIDTH);
        fprintf(p->out, "%*s", (int)(p->columns - SIZES_WIDTH), "");
    } else {
        ms_page_cell(p, v->budget->name, width);
    }
    fprintf(p->out, " %*s %*s %*s %*s\n", SIZE_WIDTH, size_text(v->expected_bytes, known, expected),
            SIZE_WIDTH, size_text(v->upper_bytes, known, upper), SIZE_WIDTH,
            size_text(v->limit_bytes, known && v->limit_bytes, limit), SIZE_WIDTH,
            left_text(v, left));
}

static void write_places(const ms_page *p, const ms_field_change *rows,
                         const ms_error *const *places, uint32_t count)
{
    char values[MS_VALUES_TEXT];
    for (uint32_t i = 0; places && i < count; i++)
        if (places[i]) {
            ms_page_put(p, "    %s:%" PRIu32 ":%" PRIu32 ": %s %s", places[i]->file,
                        places[i]->line, places[i]->column, rows[i].name,
                        ms_values_text(&rows[i], values));
            fputc('\n', p->out);
        }
}

static void write_place(const ms_page *p, const ms_error *place)
{
    ms_page_put(p, "  %s:%" PRIu32 ":%" PRIu32 ":%s%s", place->file, place->line, place->column,
                *place->pointer ? " " : "", place->pointer);
    fputc('\n', p->out);
}

static void write_others(const ms_page *p, const ms_check_row *r)
{
    for (uint32_t i = 0; i < r->other_count; i++) {
        write_place(p, &r->others[i]);
        ms_page_paragraph(p, r->others[i].text);
    }
}

static void write_detail(const ms_page *p, const ms_check_row *r)
{
    const ms_verdict *v = r->verdict;
    const ms_error *place = ms_check_place(v);
    ms_page_heading(p, v->budget->name, "");
    if (v->outcome == MS_OUTCOME_FAILED)
        write_place(p, place);
    ms_page_paragraph(p, r->text);
    write_others(p, r);
    if (*r->changes)
        ms_page_paragraph(p, r->changes);
    write_places(p, v->diff.config, v->config_places, v->diff.config_count);
    write_places(p, v->diff.settings, v->setting_places, v->diff.settings_count);
    if (*r->fix)
        ms_page_paragraph(p, r->fix);
}

bool ms_check_console(FILE *out, const ms_check_view *view)
{
    const ms_page page = ms_page_begin(out, &view->style);
    fprintf(out, "%s\n\n", view->title);
    fprintf(out, "%*s %*s %*s %*s %*s\n", (int)(page.columns - SIZES_WIDTH), "", SIZE_WIDTH,
            "expected", SIZE_WIDTH, "at most", SIZE_WIDTH, "limit", SIZE_WIDTH, "left");
    for (uint32_t i = 0; i < view->count; i++)
        write_row(&page, view->rows[i].verdict);
    for (uint32_t i = 0; i < view->count; i++)
        if (ms_check_is_known(view->rows[i].verdict))
            write_detail(&page, &view->rows[i]);
    return true;
}

bool ms_check_human(FILE *out, const ms_check_view *view)
{
    return ms_check_console(out, view);
}

/* ---- Markdown ---- */

static void markdown_row(FILE *out, const ms_verdict *v)
{
    char expected[MS_SIZE_TEXT_BYTES], upper[MS_SIZE_TEXT_BYTES], limit[MS_SIZE_TEXT_BYTES];
    char left[MS_CHANGE_TEXT];
    bool known = v->outcome != MS_OUTCOME_FAILED;
    fprintf(out, "| %s%s%s | ", ms_is_problem(v) ? "**" : "", ms_outcome_names[v->outcome],
            ms_is_problem(v) ? "**" : "");
    ms_markdown_text(out, v->budget->name);
    fprintf(out, " | %s | %s | %s | %s |\n", size_text(v->expected_bytes, known, expected),
            size_text(v->upper_bytes, known, upper),
            size_text(v->limit_bytes, known && v->limit_bytes, limit), left_text(v, left));
}

static void markdown_others(FILE *out, const ms_check_view *view, const ms_check_row *r)
{
    for (uint32_t i = 0; i < r->other_count; i++) {
        const ms_error *other = &r->others[i];
        fputs("\n- ", out);
        ms_markdown_text(out, ms_check_file(view, other));
        fprintf(out, ":%" PRIu32 ": ", other->line);
        ms_markdown_text(out, other->pointer);
        fputs(*other->pointer ? ": " : "", out);
        ms_markdown_text(out, other->text);
    }
    if (r->other_count)
        fputc('\n', out);
}

/* A job's summary holds 1 MiB and a comment 64 KiB, so only the worst are reported in full. */
bool ms_check_markdown(FILE *out, const ms_check_view *view)
{
    fprintf(out,
            "<!-- memscope-check -->\n### Memory: %s\n\n"
            "| | budget | expected | at most | limit | left |\n|---|---|---:|---:|---:|---:|\n",
            view->title);
    for (uint32_t i = 0; i < view->count; i++)
        markdown_row(out, view->rows[i].verdict);
    for (uint32_t i = 0, shown = 0; i < view->count && shown < MOST_DETAILS; i++) {
        const ms_check_row *r = &view->rows[i];
        const ms_error *place = ms_check_place(r->verdict);
        if (!ms_check_is_known(r->verdict))
            continue;
        shown++;
        fputs("\n**", out);
        ms_markdown_text(out, r->verdict->budget->name);
        fputs("** (", out);
        ms_markdown_text(out, ms_check_file(view, place));
        fprintf(out, ":%" PRIu32 "): ", place->line);
        ms_markdown_text(out, r->message);
        fputc('\n', out);
        markdown_others(out, view, r);
    }
    return true;
}
