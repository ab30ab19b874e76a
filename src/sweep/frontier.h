/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows that no other row beats.
 */
#ifndef MS_SWEEP_FRONTIER_H
#define MS_SWEEP_FRONTIER_H

#include "sweep/rows.h"

/* Those rows that fit and that no other beats: none has all objectives as good and one better. What
 * is not known is the worst. The file is read twice. `objectives`: names of columns, with commas
 * between. */
ms_status ms_rows_frontier(FILE *file, const char *name, const char *objectives, FILE *out,
                           ms_error *err);
/* Fails unless these are objectives. */
ms_status ms_rows_check_objectives(const char *objectives, ms_error *err);

#endif
