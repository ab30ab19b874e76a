/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lists of what is built in: rows of texts at a terminal.
 */
#ifndef MS_REPORT_OTHERS_LIST_TABLE_H
#define MS_REPORT_OTHERS_LIST_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct ms_list_column {
    const char *head;
    uint8_t before, width; /* as of ms_text_place */
    uint8_t goes;          /* as ms_text_table has it */
    bool is_figure;
} ms_list_column;

typedef struct ms_list_table {
    const ms_list_column *columns;
    uint32_t count; /* of columns */
    uint32_t rows;
    const char *const *cells; /* row by row */
    uint32_t least_last;      /* as of ms_text_table */
    const char *note;         /* below the rows, behind an empty line; NULL: none */
} ms_list_table;

/* At most so many columns wide, but not narrower than reports are; 0: as wide as it is. False: out
 * of memory. */
bool ms_list_write(const ms_list_table *list, uint32_t columns, FILE *out);

#endif
