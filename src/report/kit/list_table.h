/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table of fixed columns that is filled cell by cell.
 */
#ifndef MS_REPORT_KIT_LIST_TABLE_H
#define MS_REPORT_KIT_LIST_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/vec.h"
#include "report/kit/page.h"

typedef struct ms_list_column {
    const char *head;
    uint8_t before, width; /* as of ms_text_place */
    uint8_t goes;          /* as ms_text_table has it */
    bool is_figure;
} ms_list_column;

typedef struct ms_list_table {
    const ms_list_column *columns;
    uint32_t count;             /* of columns */
    uint32_t least_last;        /* as of ms_text_table */
    ms_arena *arena;            /* of the cells */
    ms_vec(const char *) cells; /* row by row */
    bool has_failed;            /* out of memory */
} ms_list_table;

/* Begins a table without rows; ms_list_end frees what it holds. */
ms_list_table ms_list_begin(const ms_list_column *columns, uint32_t count);
/* The next cell, copied. */
void ms_list_put(ms_list_table *list, const char *text);
uint32_t ms_list_rows(const ms_list_table *list);
/* Writes the table within `columns` where columns that go allow it, and frees it. NULL: frees it
 * alone. False: out of memory. */
bool ms_list_end(ms_list_table *list, const ms_page *page, uint32_t columns);

#endif
