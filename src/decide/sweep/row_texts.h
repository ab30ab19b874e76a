/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of a file in CSV as texts, by the names of their columns.
 */
#ifndef MS_DECIDE_SWEEP_ROW_TEXTS_H
#define MS_DECIDE_SWEEP_ROW_TEXTS_H

#include "base/arena.h"
#include "base/vec.h"
#include "decide/sweep/rows.h"

typedef struct ms_row_texts {
    const char **names; /* of the columns */
    uint32_t column_count;
    uint32_t first_input, input_count; /* the columns of options */
    ms_vec(const char *const *) rows;  /* the cells of each; "" where there is nothing */
} ms_row_texts;

enum { MS_ROW_TEXTS_MOST = 100000 };

/* Reads the file from its start. Texts are in the arena. MS_ERR_LIMIT: more rows than that; free
 * also after a failure. */
ms_status ms_row_texts_read(ms_arena *arena, FILE *file, const char *name, ms_row_texts *texts,
                            ms_error *err);
void ms_row_texts_free(ms_row_texts *texts);

/* The cell of that name in a row; "" where there is no such column. */
const char *ms_row_text(const ms_row_texts *texts, uint32_t row, const char *column);

#endif
