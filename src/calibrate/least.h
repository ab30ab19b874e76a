/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Least squares with coefficients of 0 or more, for a few columns.
 */
#ifndef MS_CALIBRATE_LEAST_H
#define MS_CALIBRATE_LEAST_H

#include <stdbool.h>
#include <stdint.h>

enum { MS_LEAST_COLUMNS = 3 };

typedef struct ms_least_row {
    double columns[MS_LEAST_COLUMNS], value;
} ms_least_row;

/* The coefficients that come nearest to the values; `skip` is a row to leave out, or UINT32_MAX.
 * Columns that are not in `wanted` (bits) have 0. */
void ms_least_solve(const ms_least_row *rows, uint32_t count, uint32_t skip, uint32_t wanted,
                    double coefficients[MS_LEAST_COLUMNS]);

/* Bits of the columns that are not 0 in every row. */
uint32_t ms_least_used(const ms_least_row *rows, uint32_t count);

/* Whether the rows separate the wanted columns. */
bool ms_least_tells_apart(const ms_least_row *rows, uint32_t count, uint32_t wanted);

#endif
