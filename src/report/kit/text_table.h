/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table of texts, whose rows may have a verdict, at a terminal.
 */
#ifndef MS_REPORT_KIT_TEXT_TABLE_H
#define MS_REPORT_KIT_TEXT_TABLE_H

#include "report/kit/page.h"

/* Where a column stands where there is room for all. */
typedef struct ms_text_place {
    uint32_t before; /* blanks, also where there is less room */
    uint32_t width;  /* at least */
} ms_text_place;

/* Every function gets `view`. Columns and rows are counted from 0. */
typedef struct ms_text_table {
    const void *view;
    uint32_t columns, rows;
    /* The column of "fits", "tight" and others, which are in colour; past the last: none. */
    uint32_t verdict;
    const char *(*head)(const void *view, uint32_t column);
    const char *(*cell)(const void *view, uint32_t row, uint32_t column); /* NULL: no memory */
    bool (*is_figure)(const void *view, uint32_t column);                 /* set to the right */
    /* When a narrow page does without a column: the highest goes first, equal ones together, at
     * most `columns`; 0: it stays. NULL: all stay. */
    uint32_t (*goes)(const void *view, uint32_t column);
    /* NULL: two blanks before each, and as wide as its texts. */
    ms_text_place (*place)(const void *view, uint32_t column);
    /* Texts of the last column end where the page does, and have room for so many characters; 0:
     * they are not cut. */
    uint32_t least_last;
} ms_text_table;

/* At most style->columns wide where columns that go allow it; every row is written. False: out of
 * memory. */
bool ms_text_table_console(const ms_page *page, const ms_style *style, const ms_text_table *table);

#endif
