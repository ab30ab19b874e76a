/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reports of checks: one row per channel.
 */
#ifndef MS_REPORT_CHECK_CHECK_REPORT_H
#define MS_REPORT_CHECK_CHECK_REPORT_H

#include <stdio.h>

#include "report/check/check_view.h"

/* Writes, flushes and checks for errors. `verdicts` are sorted worst first, set->count of them;
 * `set` has the view's members that are not derived from them. */
ms_status ms_check_report_write(const ms_verdict *const *verdicts, const ms_check_view *set,
                                const char *format, FILE *out, ms_error *err);

#endif
