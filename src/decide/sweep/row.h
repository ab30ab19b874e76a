/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows: the line written for a point, with the same columns for every point of a sweep.
 */
#ifndef MS_DECIDE_SWEEP_ROW_H
#define MS_DECIDE_SWEEP_ROW_H

#include <stdio.h>

#include "decide/sweep/figures.h"

typedef enum ms_row_format { MS_ROWS_CSV, MS_ROWS_JSONL, MS_ROWS_COUNT } ms_row_format;
extern const char *const ms_row_format_names[]; /* by ms_row_format; ends with NULL */

/* What the rows of a sweep have in common. */
typedef struct ms_row_layout {
    const ms_grid *grid;
    const ms_question *question;
    ms_row_format format;
    uint64_t sweep;       /* digest of the sweep's definition */
    uint64_t point_count; /* of all shards */
} ms_row_layout;

/* Writes the line before the first row, if the format has one. */
void ms_row_write_header(const ms_row_layout *layout, FILE *out);

/* Writes one line. `err`: why there are no figures, if there are none. */
void ms_row_write(const ms_row_layout *layout, const ms_point *point, const ms_figures *figures,
                  const ms_error *err, FILE *out);

/* Whether larger values of a column are better (1) or smaller ones (-1); 0: it is no objective. */
int ms_row_preference(const char *column);
/* Names of columns with a preference; NULL past the last. */
const char *ms_row_objective_at(size_t index);

#endif
