/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The Pareto front of rows.
 */
#ifndef MS_DECIDE_SWEEP_FRONTIER_H
#define MS_DECIDE_SWEEP_FRONTIER_H

#include "decide/sweep/rows.h"

/* Writes the rows that fit and are not dominated: no other row is at least as good in all
 * objectives and better in one. Unknown values are the worst. The file is read twice. `objectives`:
 * names of columns, separated by commas. */
ms_status ms_rows_frontier(FILE *file, const char *name, const char *objectives, FILE *out,
                           ms_error *err);
/* Fails unless all of them are names of objectives. */
ms_status ms_rows_check_objectives(const char *objectives, ms_error *err);

#endif
