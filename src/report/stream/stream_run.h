/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Streamed passes that were executed: predicted beside measured, as parts of the other reports.
 */
#ifndef MS_REPORT_STREAM_STREAM_RUN_H
#define MS_REPORT_STREAM_STREAM_RUN_H

#include "base/json/members.h"
#include "report/kit/tree/tree.h"
#include "report/stream/stream_view.h"

void ms_stream_run_tree(ms_tree *tree, const ms_stream_view *view);

/* The member "run" of a document that begins with an ms_stream_view. */
extern const ms_members ms_stream_run_table;

/* Columns after those of the table: their names, each after a comma, and a row's figures, which are
 * empty past what was executed. */
void ms_stream_run_csv_names(FILE *out);
void ms_stream_run_csv(FILE *out, const ms_stream_run_view *ran, uint32_t row);

#endif
