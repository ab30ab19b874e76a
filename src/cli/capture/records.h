/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Records that the hook in a captured program left in a folder: files with one stem per process.
 */
#ifndef MS_CLI_CAPTURE_RECORDS_H
#define MS_CLI_CAPTURE_RECORDS_H

#include <stdbool.h>

#include "cli/output/guard.h"
#include "memscope/recorded.h"

#define MS_CLI_REPORT_NAME "runtime_report.json"
enum { MS_CLI_STEM_BYTES = 256 };

/* The stem of the best record, whose report is STEM.json; false if there is none. A process that
 * used the device and was cut off is preferred to one without figures: a report is made of its
 * partial record, with `outcome` and `how` it ended, which are plain text. */
bool ms_cli_find_record(const char *folder, const char *outcome, const char *how,
                        char stem[MS_CLI_STEM_BYTES]);

/* Moves a record to its destination, each file atomically, the report last; removes files of an
 * older record that this one lacks. */
ms_status ms_cli_keep_record(const char *folder, const char *stem, const char *out, ms_error *err);

/* Copies a record that was kept in `from` to `folder`, where it has a stem. */
ms_status ms_cli_copy_record(const char *from, const char *folder, const char *stem, ms_error *err);

/* Reads a report named on the command line and records it as an input (guard.h); NULL on failure.
 */
ms_recorded *ms_cli_read_record(const char *path, ms_error *err);

/* Adds the names of all files of a record, below `out`. */
void ms_cli_add_records(ms_cli_targets *targets, const char *out);

#endif
