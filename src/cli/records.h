/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the Python of a captured program left in a folder: files with one stem for each process.
 */
#ifndef MS_CLI_RECORDS_H
#define MS_CLI_RECORDS_H

#include <stdbool.h>

#define MS_CLI_REPORT_NAME "runtime_report.json"

/* Moves the best record and what belongs to it to their places; true when there is one. A process
 * that used the device and was cut off goes before one that tells nothing. */
bool ms_cli_keep_record(const char *folder, const char *out);

/* Makes a report of what was known of a process when it was cut off; false when nothing was.
 * `outcome` and `how` are plain text. */
bool ms_cli_keep_unfinished(const char *folder, const char *out, const char *outcome,
                            const char *how);

/* Of an earlier capture. */
void ms_cli_remove_records(const char *out);
void ms_cli_remove_folder(const char *folder);

#endif
