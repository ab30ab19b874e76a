/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The counts of a summary as rows, for reports that show all of them.
 */
#ifndef MS_REPORT_VIEW_SUMMARY_H
#define MS_REPORT_VIEW_SUMMARY_H

#include "memscope/memscope.h"

typedef struct ms_summary_row {
    const char *name;  /* in JSON */
    const char *title; /* for people */
    size_t offset;     /* of a uint64_t in ms_summary */
    bool is_count;     /* not bytes */
    bool is_of_host;
} ms_summary_row;

/* Rows of the host come last; NULL past the last. */
const ms_summary_row *ms_summary_row_at(size_t index);
uint64_t ms_summary_value(const ms_summary *summary, const ms_summary_row *row);

#endif
