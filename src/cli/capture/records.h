/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the Python of a captured program left in a folder: files with one stem for each process.
 */
#ifndef MS_CLI_CAPTURE_RECORDS_H
#define MS_CLI_CAPTURE_RECORDS_H

#include <stdbool.h>

#include "cli/output/guard.h"
#include "memscope/recorded.h"

#define MS_CLI_REPORT_NAME "runtime_report.json"
enum { MS_CLI_STEM_BYTES = 256 };

/* The stem of the best record, whose report is then STEM.json; false when nothing is known. A
 * process that used the device and was cut off goes before one that tells nothing: what was known
 * of it is made a report, with `outcome` and `how` it ended, which are plain text. */
bool ms_cli_find_record(const char *folder, const char *outcome, const char *how,
                        char stem[MS_CLI_STEM_BYTES]);

/* Moves a record to its place. The report comes last, and each file as a whole; what an older
 * record has and this one has not is removed. */
ms_status ms_cli_keep_record(const char *folder, const char *stem, const char *out, ms_error *err);

/* A report that a command was given; NULL on failure. It is an input, see guard.h. */
ms_recorded *ms_cli_read_record(const char *path, ms_error *err);

/* The names of all of them, below `out`. */
void ms_cli_add_records(ms_cli_targets *targets, const char *out);

#endif
