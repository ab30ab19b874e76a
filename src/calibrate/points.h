/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measured steps beside what was told of them.
 */
#ifndef MS_CALIBRATE_POINTS_H
#define MS_CALIBRATE_POINTS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "device/device.h"
#include "json/value.h"

/* What is 0 was not told or not measured. */
typedef struct ms_measured_point {
    const char *name, *device;
    double told_reserved, measured_reserved, measured_device; /* bytes */
    double told_ms[MS_OP_CLASSES], told_copy_ms, measured_ms;
    double host_link_gb_per_s, peer_link_gb_per_s; /* measured */
} ms_measured_point;

typedef ms_vec(ms_measured_point) ms_measured_points;

/* A table: a line of column names, then a point a line. Refuses with file and line. `text` is cut
 * up. */
ms_status ms_measured_points_read(ms_arena *arena, const char *file, char *text,
                                  ms_measured_points *points, ms_error *err);
/* The names of the columns, "name, device, ..."; NULL past the last. */
const char *ms_measured_column_at(size_t index);

/* A static report and the runtime report of the same run. */
ms_status ms_measured_point_pair(ms_arena *arena, ms_json_value told, ms_json_value measured,
                                 const char *name, ms_measured_points *points, ms_error *err);

#endif
