/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measurements that cannot be, and fits that are out of the usual range.
 */
#ifndef MS_DECIDE_CALIBRATE_PLAUSIBLE_H
#define MS_DECIDE_CALIBRATE_PLAUSIBLE_H

#include "decide/calibrate/fit_memory.h"

/* Fails with the place of a point: its line, or the name of its report. */
__attribute__((format(printf, 3, 4))) ms_status
ms_measured_point_fail(const ms_measured_point *point, ms_error *err, const char *format, ...);

/* Refuses more bytes than the device has, too few to be bytes, a context of tens of GiB, steps
 * faster than the roofline by far, and columns that are swapped. */
ms_status ms_measured_points_check(const ms_measured_points *points, const ms_device *device,
                                   ms_error *err);

/* Adds remarks on what was fitted: what is unusual in it, and what that means. */
ms_status ms_calibration_remark(ms_arena *arena, const ms_device *device,
                                ms_calibration_result *result, ms_error *err);

#endif
