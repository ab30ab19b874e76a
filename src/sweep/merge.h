/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Joining shards.
 */
#ifndef MS_SWEEP_MERGE_H
#define MS_SWEEP_MERGE_H

#include "sweep/rows.h"

/* Joins the rows of shards, in the order of the points, and proves that they are those of one sweep
 * and all of them: a row that is missing, foreign or there twice is refused by name. */
ms_status ms_rows_merge(ms_rows *shards, size_t count, FILE *out, ms_error *err);

#endif
