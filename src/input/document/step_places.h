/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where a static report states what is predicted of a step, and a runtime report what was measured
 * of it. Values are read when they are asked for, so that whoever refuses one has its place.
 */
#ifndef MS_INPUT_DOCUMENT_STEP_PLACES_H
#define MS_INPUT_DOCUMENT_STEP_PLACES_H

#include "base/error.h"
#include "base/json/value.h"

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
