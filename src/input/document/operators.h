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

/* ---- step places ---- */

/* Where a static report states what is predicted of a step, and a runtime report what was measured
 * of it. Values are read when they are asked for, so that whoever refuses one has its place. */

#define MS_MEASURED_MOST 1e15 /* more is taken as a mistake */

typedef struct ms_placed {
    const char *pointer;
    bool is_there;
    ms_json_value root, at; /* at: the document where it is not there */
} ms_placed;

/* Texts belong to the document. */
ms_status ms_placed_text(const ms_placed *placed, const char **text, ms_error *err);
/* Absent or null: left as it is, or refused. */
ms_status ms_placed_number(const ms_placed *placed, bool must, double *number, ms_error *err);

typedef struct ms_predicted_step {
    ms_json_value root; /* for ms_report_operator_times */
    ms_placed device, calibration;
    ms_placed reserved_bytes, exposed_copy_ms;
    ms_placed step_time_ms;
    /* Of classes of operators; absent in old reports, whose times are the roofline's. */
    ms_placed roofline_product_ms, roofline_attention_ms, roofline_other_ms;
} ms_predicted_step;

typedef struct ms_measured_step {
    ms_placed mode, outcome, device_title, device_bytes;
    ms_placed reserved_bytes, device_used_bytes, step_time_ms;
} ms_measured_step;

ms_predicted_step ms_predicted_step_find(ms_json_value root);
ms_measured_step ms_measured_step_find(ms_json_value root);

#endif
