/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Joining shards.
 */
#ifndef MS_DECIDE_SWEEP_MERGE_H
#define MS_DECIDE_SWEEP_MERGE_H

#include "decide/sweep/rows.h"

/* Joins the rows of shards in the order of the points, and checks that they are all rows of one
 * sweep. An error names a row that is missing, foreign or duplicate. */
ms_status ms_rows_merge(ms_rows *shards, size_t count, FILE *out, ms_error *err);

#endif
