/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fits device properties to measured steps, and reports the quality of the fit.
 */
#ifndef MS_DECIDE_CALIBRATE_FIT_MEMORY_H
#define MS_DECIDE_CALIBRATE_FIT_MEMORY_H

#include "decide/calibrate/points.h"
#include "core/device/calibration.h"

/* Relative error of a figure, |predicted - measured| / measured. */
typedef struct ms_calibration_error {
    double mean, worst;
} ms_calibration_error;

typedef struct ms_calibration_quality {
    const char *figure; /* "reserved_memory_bytes" */
    uint32_t points;
    ms_calibration_error before, after;
    ms_calibration_error held_out; /* leave-one-out: each point by a fit without it */
} ms_calibration_quality;

enum {
    MS_CALIBRATION_FIGURES = 3,
    MS_CALIBRATION_MOST_NOTES = 8,
    MS_CALIBRATION_MOST_REMARKS = 16
};

typedef struct ms_calibration_result {
    ms_calibration calibration;
    ms_calibration_quality qualities[MS_CALIBRATION_FIGURES];
    uint32_t quality_count;
    const char *notes[MS_CALIBRATION_MOST_NOTES]; /* parameters that were not fitted, and why */
    uint32_t note_count;
    const char *remarks[MS_CALIBRATION_MOST_REMARKS]; /* what is out of the usual range, and why
                                                       * that matters */
    uint32_t remark_count;
} ms_calibration_result;

/* `device` is the device of all points. Fails with the reasons if nothing could be fitted. */
ms_status ms_calibration_fit(ms_arena *arena, const ms_measured_points *points,
                             const ms_device *device, ms_calibration_result *result, ms_error *err);

/* The device of all points; fails if they name different ones. */
ms_status ms_calibration_device(const ms_measured_points *points, const char **name, ms_error *err);

#endif
