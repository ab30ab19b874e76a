/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The verdicts of a table's rows.
 */
#ifndef MS_REPORT_RUNS_RUNS_VERDICT_H
#define MS_REPORT_RUNS_RUNS_VERDICT_H

#include "report/runs/runs_view.h"

/* "fits", "tight", "unknown", "no" or "error". */
const char *ms_runs_verdict(const ms_runs_row *row);
/* Whether something fits, if only just; and whether something does that is not tight. */
bool ms_runs_fits(const ms_runs_row *row);
/* Whether settings that are not predicted decide. */
bool ms_runs_are_unknown(const ms_runs_row *row);
bool ms_runs_are_safe(const ms_runs_row *row);
uint32_t ms_runs_fit_count(const ms_runs_view *view);
uint32_t ms_runs_unknown_count(const ms_runs_view *view);

#endif
