/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reports of a calibration: its parameters, and their errors.
 */
#ifndef MS_REPORT_OTHERS_CALIBRATION_REPORT_H
#define MS_REPORT_OTHERS_CALIBRATION_REPORT_H

#include <stdio.h>

#include "calibrate/fit_memory.h"
#include "memscope/memscope.h"

void ms_calibration_console(FILE *out, const ms_calibration_result *result, const ms_style *style);
/* calibration.json */
void ms_calibration_json(FILE *out, const ms_calibration_result *result);

#endif
