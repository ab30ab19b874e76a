/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading a report for a comparison.
 */
#ifndef MS_API_DIFF_H
#define MS_API_DIFF_H

#include "api/read_report.h"

/* Reads a file, or standard input ("-"). *is_one: it is a report and was read; a JSON file that is
 * no report is not an error. Texts are in the arena. */
ms_status ms_report_file_read(ms_arena *arena, const char *path, ms_report *report, bool *is_one,
                              ms_error *err);

#endif
