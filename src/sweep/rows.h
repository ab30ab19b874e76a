/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows that a sweep wrote, read back line by line: to go on after them, to join shards, to choose.
 */
#ifndef MS_SWEEP_ROWS_H
#define MS_SWEEP_ROWS_H

#include "base/error.h"
#include "sweep/row.h"

/* A file of rows, and the row that was read last. */
typedef struct ms_rows {
    FILE *file; /* the caller's */
    char name[128];
    ms_row_format format;
    char *header; /* with its line break; NULL: none yet, or the format has none */
    uint32_t cell_count;
    char *line; /* with its line break */
    size_t line_bytes, length;
    uint64_t line_number, whole_bytes; /* bytes of all lines that have ended */
    bool has_row;                      /* false at the end */
    bool is_cut;                       /* what follows the last line break is no row */
    uint64_t sweep, point, point_count;
    bool is_error;
} ms_rows;

/* Reads up to the first row. Free the rows also after a failure. */
ms_status ms_rows_open(ms_rows *rows, FILE *file, const char *name, ms_error *err);
ms_status ms_rows_next(ms_rows *rows, ms_error *err);
void ms_rows_free(ms_rows *rows);

#endif
