/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading rows of a sweep line by line: to resume, to join shards, to find the Pareto front.
 */
#ifndef MS_DECIDE_SWEEP_ROWS_H
#define MS_DECIDE_SWEEP_ROWS_H

#include "base/error.h"
#include "decide/sweep/row.h"

/* A file of rows, and its last row read. */
typedef struct ms_rows {
    FILE *file; /* the caller's */
    char name[128];
    ms_row_format format;
    char *header; /* with its line break; NULL: none yet, or the format has none */
    uint32_t cell_count;
    char *line; /* with its line break */
    size_t line_bytes, length;
    uint64_t line_number, whole_bytes; /* whole_bytes: of all complete lines */
    bool has_row;                      /* false at the end */
    bool is_cut;                       /* an incomplete row follows the last line break */
    uint64_t sweep, point, point_count;
    bool is_error;
} ms_rows;

/* Reads up to the first row. Free the rows also after a failure. */
ms_status ms_rows_open(ms_rows *rows, FILE *file, const char *name, ms_error *err);
ms_status ms_rows_next(ms_rows *rows, ms_error *err);
void ms_rows_free(ms_rows *rows);

#endif
