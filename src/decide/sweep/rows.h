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

/* ---- merge ---- */

/* Joining shards. */

/* Joins the rows of shards in the order of the points, and checks that they are all rows of one
 * sweep. An error names a row that is missing, foreign or duplicate. */
ms_status ms_rows_merge(ms_rows *shards, size_t count, FILE *out, ms_error *err);

/* ---- row texts ---- */

/* The rows of a file in CSV as texts, by the names of their columns. */

typedef struct ms_row_texts {
    const char **names; /* of the columns */
    uint32_t column_count;
    uint32_t first_input, input_count; /* the columns of options */
    ms_vec(const char *const *) rows;  /* the cells of each; "" where there is nothing */
} ms_row_texts;

/* Reads the file from its start. Texts are in the arena. MS_ERR_LIMIT: more rows than that; free
 * also after a failure. */
ms_status ms_row_texts_read(ms_arena *arena, FILE *file, const char *name, ms_row_texts *texts,
                            ms_error *err);
void ms_row_texts_free(ms_row_texts *texts);

/* The cell of that name in a row; "" where there is no such column. */
const char *ms_row_text(const ms_row_texts *texts, uint32_t row, const char *column);

#endif
