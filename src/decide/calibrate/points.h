/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measured steps beside what was predicted of them.
 */
#ifndef MS_DECIDE_CALIBRATE_POINTS_H
#define MS_DECIDE_CALIBRATE_POINTS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "core/device/device.h"
#include "input/document/operators.h"
#include "base/json/value.h"

/* What is 0 was not predicted or not measured. */
typedef struct ms_measured_point {
    const char *name, *device;
    const char *file; /* of a table */
    uint32_t line;    /* in it; 0: the point is of a report */
    double predicted_reserved, measured_reserved, measured_device; /* bytes */
    double predicted_ms[MS_OP_CLASSES];                            /* of the roofline */
    double predicted_copy_ms, measured_ms;
    double step_ms; /* predicted without a calibration; 0: the sum of the above */
    double host_link_gb_per_s, peer_link_gb_per_s; /* measured */
    double measured_context;                       /* bytes, of the device alone */
} ms_measured_point;

typedef ms_vec(ms_measured_point) ms_measured_points;

/* A table: a line of column names, then a point a line. Refuses with file and line. `text` is cut
 * up. */
ms_status ms_measured_points_read(ms_arena *arena, const char *file, char *text,
                                  ms_measured_points *points, ms_error *err);

/* A static report and the runtime report of the same run, and the devices that there are. */
typedef struct ms_report_pair {
    ms_json_value predicted, measured;
    const char *name;
    const ms_device *devices;
    uint32_t device_count;
} ms_report_pair;

#endif
