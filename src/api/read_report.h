/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_API_READ_REPORT_H
#define MS_API_READ_REPORT_H

#include "document/report.h"

/* Reads a file, or standard input ("-"). `is_one`: it is a report, and was read as one; a file of
 * JSON that is none is no failure. Texts in the arena. */
ms_status ms_report_file_read(ms_arena *arena, const char *path, ms_report *report, bool *is_one,
                              ms_error *err);

#endif
