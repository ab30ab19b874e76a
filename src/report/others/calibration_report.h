/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A fit: its parameters, and how well it does, as text for people or as calibration.json.
 */
#ifndef MS_REPORT_OTHERS_CALIBRATION_REPORT_H
#define MS_REPORT_OTHERS_CALIBRATION_REPORT_H

#include "decide/calibrate/fit_memory.h"
#include "memscope/memscope.h"

typedef struct ms_calibration_view {
    const ms_calibration_result *result;
    const ms_style *style;
} ms_calibration_view;

#endif
