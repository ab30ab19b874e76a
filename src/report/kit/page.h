/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Text for a terminal: headings, cells, bars and paragraphs of a page. Every text may be untrusted
 * and is made printable as by ms_printable.
 */
#ifndef MS_REPORT_KIT_PAGE_H
#define MS_REPORT_KIT_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "memscope/memscope.h"
#include "report/kit/field.h"

typedef enum ms_tone {
    MS_TONE_BOLD,
    MS_TONE_GOOD,
    MS_TONE_TIGHT,
    MS_TONE_BAD,
    MS_TONE_DIM,
    MS_TONE_END
} ms_tone;

typedef struct ms_page {
    FILE *out;
    uint32_t columns;
    bool color, unicode;
} ms_page;

/* Begins a page with the style's columns, limited to a readable width. */
ms_page ms_page_begin(FILE *out, const ms_style *style);

const char *ms_page_tone(const ms_page *p, ms_tone tone); /* escape sequence, or "" */
ms_tone ms_page_verdict_tone(ms_fit_verdict verdict);
/* The verdict below a title, behind an empty line, as words that wrap. */
void ms_page_answer(const ms_page *p, ms_tone tone, const char *answer);
/* A name that stands out, and what is said of it, on a line that wraps. */
void ms_page_subject(const ms_page *p, const char *name, const char *text);
/* The units, "  (GiB)", follow on the line where there is room. */
void ms_page_heading(const ms_page *p, const char *text, const char *units);
/* Writes part of a line, made printable, at most 2 KiB. */
__attribute__((format(printf, 2, 3))) void ms_page_put(const ms_page *p, const char *format, ...);
void ms_page_bar(const ms_page *p, uint32_t permille, uint32_t width);

/* Writes a text in `width` columns; a longer one is shortened in the middle. */
void ms_page_cell(const ms_page *p, const char *text, uint32_t width);
/* The same for texts that differ at their end: a longer one loses its beginning. */
void ms_page_end_cell(const ms_page *p, const char *text, uint32_t width);
void ms_page_last_cell(const ms_page *p, const char *text, uint32_t width); /* ends the line */

/* How wide a column of names may be, at most `wanted`, where `others` columns are needed besides.
 */
uint32_t ms_page_room(const ms_page *p, uint32_t wanted, uint32_t others);
/* A name in `width` columns, before figures, behind two columns. Where there is little room, a
 * longer one gets a line of its own; else it loses its beginning, as names differ at their end. */
void ms_page_name(const ms_page *p, const char *name, uint32_t width);

/* Word-wrapped text; continuation lines are indented. */
typedef struct ms_paragraph {
    const ms_page *page;
    uint32_t column, indent;
} ms_paragraph;

void ms_page_word(ms_paragraph *g, const char *word, uint32_t length);
void ms_page_words(ms_paragraph *g, const char *text); /* separated by blanks */
/* A paragraph with a label: "note: ...". */
void ms_page_note(const ms_page *p, const char *label, const char *text);
/* The rest of a line behind `column` columns; continuation lines are aligned with its first word,
 * unless that leaves them no room. */
void ms_page_rest(const ms_page *p, uint32_t column, const char *text);
void ms_page_paragraph(const ms_page *p, const char *text);
/* A paragraph that is formatted, at most 2 KiB. */
__attribute__((format(printf, 2, 3))) void ms_page_say(const ms_page *p, const char *format, ...);
/* A paragraph whose first line is not indented. */
void ms_page_line(const ms_page *p, const char *text);

#endif
