/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/page.h"

#include <stdarg.h>
#include <string.h>

#include "base/locale.h"
#include "base/utf8.h"

enum { MIN_COLUMNS = 50, MAX_COLUMNS = 120, MAX_PIECE = 2048 };
enum { INDENT = 4, LEAST_ROOM = 16, LEAST_NAME = 24 };

ms_page ms_page_begin(FILE *out, const ms_style *style)
{
    uint32_t columns = style->columns;
    columns = columns < MIN_COLUMNS ? MIN_COLUMNS : columns > MAX_COLUMNS ? MAX_COLUMNS : columns;
    return (ms_page){out, columns, style->color, style->unicode};
}

const char *ms_page_tone(const ms_page *p, ms_tone tone)
{
    static const char *const codes[] = {"\033[1m",    "\033[1;32m", "\033[1;33m",
                                        "\033[1;31m", "\033[2m",    "\033[0m"};
    return p->color ? codes[tone] : "";
}

ms_tone ms_page_verdict_tone(ms_fit_verdict verdict)
{
    return verdict == MS_VERDICT_FITS    ? MS_TONE_GOOD
           : verdict == MS_VERDICT_TIGHT ? MS_TONE_TIGHT
                                         : MS_TONE_BAD;
}

void ms_page_put(const ms_page *p, const char *format, ...)
{
    char text[MAX_PIECE];
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    ms_put_printable(p->out, text);
}

void ms_page_bar(const ms_page *p, uint32_t permille, uint32_t width)
{
    uint32_t cells = (permille * width + 500) / 1000;
    if (cells)
        fputs("  ", p->out);
    for (uint32_t i = 0; i < cells; i++)
        fputs(p->unicode ? "\xe2\x96\x88" : "#", p->out);
}

static uint32_t columns_of(const ms_shown *shown)
{
    return shown->is_unchanged ? 1 : (uint32_t)strlen(shown->text);
}

/* Columns of the text between two places, as it is printed. */
static uint32_t count_columns(const char *text, const char *at, const char *end)
{
    uint32_t columns = 0;
    while (at < end) {
        ms_shown shown = ms_show(text, at, end);
        columns += columns_of(&shown);
        at += shown.bytes;
    }
    return columns;
}

/* The last place in the text that has at most that many columns before it. */
static const char *after_columns(const char *text, uint32_t columns)
{
    const char *at = text;
    for (const char *end = text + strlen(text); at < end;) {
        ms_shown shown = ms_show(text, at, end);
        if (columns_of(&shown) > columns)
            break;
        columns -= columns_of(&shown);
        at += shown.bytes;
    }
    return at;
}

/* Columns used, at most `width`. Of a longer text so many columns of its beginning stay, and of its
 * end what there is room for. */
static uint32_t put_shortened(const ms_page *p, const char *text, uint32_t width,
                              uint32_t head_columns)
{
    const char *end = text + strlen(text);
    uint32_t columns = count_columns(text, text, end);
    if (columns <= width) {
        ms_put_printable(p->out, text);
        return columns;
    }
    const char *head = after_columns(text, head_columns);
    uint32_t used = count_columns(text, text, head) + 3;
    const char *tail = after_columns(text, columns - (width - used));
    while (count_columns(text, tail, end) > width - used)
        tail += ms_show(text, tail, end).bytes;
    ms_put_escaped(p->out, text, text, head, NULL);
    fputs("...", p->out);
    ms_put_escaped(p->out, text, tail, end, NULL);
    return used + count_columns(text, tail, end);
}

void ms_page_cell(const ms_page *p, const char *text, uint32_t width)
{
    uint32_t used = put_shortened(p, text, width, (width - 3) / 2);
    fprintf(p->out, "%*s", (int)(width - used), "");
}

void ms_page_end_cell(const ms_page *p, const char *text, uint32_t width)
{
    uint32_t used = put_shortened(p, text, width, 0);
    fprintf(p->out, "%*s", (int)(width - used), "");
}

void ms_page_last_cell(const ms_page *p, const char *text, uint32_t width)
{
    put_shortened(p, text, width, (width - 3) / 2);
    fputc('\n', p->out);
}

/* ---- words ---- */

void ms_page_word(ms_paragraph *g, const char *word, uint32_t length)
{
    uint32_t columns = count_columns(word, word, word + length);
    if (g->column + 1 + columns > g->page->columns) {
        fprintf(g->page->out, "\n%*s", (int)g->indent, "");
        g->column = g->indent;
    } else {
        fputs(g->column ? " " : "  ", g->page->out);
        g->column += g->column ? 1 : 2;
    }
    ms_put_escaped(g->page->out, word, word, word + length, NULL);
    g->column += columns;
}

void ms_page_words(ms_paragraph *g, const char *text)
{
    while (*text) {
        uint32_t length = (uint32_t)strcspn(text, " ");
        ms_page_word(g, text, length);
        text += length + (text[length] == ' ');
    }
}

/* Words whose first one begins where the line is; continuation lines are indented. */
static void put_here(const ms_page *p, uint32_t column, const char *text)
{
    const char *end = text + strcspn(text, " ");
    ms_put_escaped(p->out, text, text, end, NULL);
    ms_paragraph g = {p, column + count_columns(text, text, end), INDENT};
    ms_page_words(&g, end + (*end == ' '));
}

void ms_page_line(const ms_page *p, const char *text)
{
    put_here(p, 0, text);
    fputc('\n', p->out);
}

void ms_page_answer(const ms_page *p, ms_tone tone, const char *answer)
{
    fprintf(p->out, "\n  %s", ms_page_tone(p, tone));
    put_here(p, 2, answer);
    fprintf(p->out, "%s\n", ms_page_tone(p, MS_TONE_END));
}

void ms_page_subject(const ms_page *p, const char *name, const char *text)
{
    fputs(ms_page_tone(p, MS_TONE_BOLD), p->out);
    ms_put_printable(p->out, name);
    fputs(ms_page_tone(p, MS_TONE_END), p->out);
    ms_paragraph g = {p, count_columns(name, name, name + strlen(name)), INDENT};
    ms_page_words(&g, text);
    fputc('\n', p->out);
}

void ms_page_heading(const ms_page *p, const char *text, const char *units)
{
    const char *end = text + strlen(text);
    fprintf(p->out, "\n%s", ms_page_tone(p, MS_TONE_BOLD));
    ms_put_printable(p->out, text);
    fputs(ms_page_tone(p, MS_TONE_END), p->out);
    if (count_columns(text, text, end) + strlen(units) <= p->columns) {
        ms_put_printable(p->out, units);
        fputc('\n', p->out);
        return;
    }
    fputc('\n', p->out);
    ms_page_paragraph(p, units + strspn(units, " "));
}

void ms_page_paragraph(const ms_page *p, const char *text)
{
    ms_paragraph g = {p, 0, INDENT};
    ms_page_words(&g, text);
    fputc('\n', p->out);
}

void ms_page_say(const ms_page *p, const char *format, ...)
{
    char text[MAX_PIECE];
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    ms_page_paragraph(p, text);
}

void ms_page_rest(const ms_page *p, uint32_t column, const char *text)
{
    ms_paragraph g = {p, column, column + 1};
    if (g.indent + LEAST_ROOM > p->columns)
        g.indent = INDENT;
    ms_page_words(&g, text);
    fputc('\n', p->out);
}

void ms_page_note(const ms_page *p, const char *label, const char *text)
{
    ms_paragraph g = {p, 0, INDENT};
    ms_page_words(&g, label);
    ms_page_words(&g, text);
    fputc('\n', p->out);
}

/* ---- names before figures ---- */

uint32_t ms_page_room(const ms_page *p, uint32_t wanted, uint32_t others)
{
    uint32_t room = p->columns > others ? p->columns - others : 0;
    return room < wanted ? room : wanted;
}

void ms_page_name(const ms_page *p, const char *name, uint32_t width)
{
    if (width >= LEAST_NAME || count_columns(name, name, name + strlen(name)) <= width) {
        ms_page_end_cell(p, name, width);
        return;
    }
    put_shortened(p, name, p->columns - 2, 0);
    fprintf(p->out, "\n  %*s", (int)width, "");
}
