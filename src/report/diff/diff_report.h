/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reports of diffs: one row per format.
 */
#ifndef MS_REPORT_DIFF_DIFF_REPORT_H
#define MS_REPORT_DIFF_DIFF_REPORT_H

#include <stdio.h>

#include "report/diff/diff_view.h"

/* Writes, flushes and checks for errors. */
ms_status ms_diff_report_write(const ms_diff *diff, const char *a_name, const char *b_name,
                               const ms_style *style, const char *format, FILE *out, ms_error *err);

#endif
