/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Non-negative least squares for a few columns.
 */
#ifndef MS_DECIDE_CALIBRATE_LEAST_H
#define MS_DECIDE_CALIBRATE_LEAST_H

#include <stdbool.h>
#include <stdint.h>

enum { MS_LEAST_COLUMNS = 3 };

typedef struct ms_least_row {
    double columns[MS_LEAST_COLUMNS], value;
} ms_least_row;

/* The coefficients with the least squared error; `skip` is a row to omit, or UINT32_MAX. Columns
 * that are not in `wanted` (bits) get 0. */
void ms_least_solve(const ms_least_row *rows, uint32_t count, uint32_t skip, uint32_t wanted,
                    double coefficients[MS_LEAST_COLUMNS]);

/* Bits of the columns that are non-zero in some row. */
uint32_t ms_least_used(const ms_least_row *rows, uint32_t count);

/* Whether the wanted columns are linearly independent. */
bool ms_least_tells_apart(const ms_least_row *rows, uint32_t count, uint32_t wanted);

#endif
