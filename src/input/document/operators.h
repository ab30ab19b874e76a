/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads the operators of a report, with those of equal layers merged.
 */
#ifndef MS_INPUT_DOCUMENT_OPERATORS_H
#define MS_INPUT_DOCUMENT_OPERATORS_H

#include "input/document/report.h"

static inline uint64_t ms_add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Reads "operators" of a static report into both lists of the report, sorted by name and place. */
ms_status ms_report_operators_read(ms_arena *arena, ms_json_value root, ms_report *report,
                                   ms_error *err);

/* The time of one record. */
typedef struct ms_operator_time {
    const char *name; /* the document's */
    double ms;        /* of all executions that the record stands for */
    bool has_flops;
} ms_operator_time;

/* Takes every record of "operators", in the order of the file. */
ms_status ms_report_operator_times(ms_json_value root,
                                   void (*take)(void *context, const ms_operator_time *time),
                                   void *context, ms_error *err);

#endif
