/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Device properties fitted to measured steps: calibration.json, as `memscope calibrate` writes it.
 */
#ifndef MS_CORE_DEVICE_CALIBRATION_H
#define MS_CORE_DEVICE_CALIBRATION_H

#include "core/device/device.h"
#include "base/json/members.h"

typedef enum ms_parameter_kind {
    MS_PARAMETER_CONTEXT,   /* bytes that the device reports beyond reserved memory */
    MS_PARAMETER_WORKSPACE, /* bytes reserved beyond the prediction, for any run */
    MS_PARAMETER_MARGIN,  /* share of the predicted reserved memory that is added for fragmentation
                           */
    MS_PARAMETER_PRODUCT, /* measured time of operators / roofline time, by ms_op_class */
    MS_PARAMETER_ATTENTION,
    MS_PARAMETER_OTHER,
    MS_PARAMETER_HOST_LINK, /* bytes per second, each way */
    MS_PARAMETER_PEER_LINK, /* bytes per second */
    MS_PARAMETER_COUNT
} ms_parameter_kind;

typedef struct ms_parameter_row {
    const char *title; /* "context" */
    double most;       /* more is refused */
    bool is_bytes;     /* a whole number of bytes */
} ms_parameter_row;
extern const ms_parameter_row ms_parameter_rows[]; /* by ms_parameter_kind */

/* points 0: not fitted. `low` and `high`: the range of the value when each point in turn is
 * omitted; for the context, its smallest and its largest measurement. */
typedef struct ms_fitted {
    uint32_t points;
    double value, low, high;
} ms_fitted;

typedef struct ms_calibration {
    const char *device; /* its name in the table */
    uint32_t points;
    ms_fitted parameters[MS_PARAMETER_COUNT];
} ms_calibration;

/* The members that are read back of what `memscope calibrate` writes. */
extern const ms_members ms_calibration_table;

/* Refuses what `memscope calibrate` would not write. Texts are copied to the arena. */
ms_status ms_calibration_read(ms_arena *arena, ms_json_value root, ms_calibration *calibration,
                              ms_error *err);

/* The device with the fitted values in place of those of its row. */
void ms_calibration_apply(const ms_calibration *calibration, ms_device *device);

/* A sentence for each group of figures that the calibration changes, and the names of those figures
 * in static_report.json, separated by spaces. False past the last, and when out of memory. */
typedef struct ms_calibration_note {
    const char *text, *figures;
} ms_calibration_note;
bool ms_calibration_note_at(ms_arena *arena, const ms_calibration *calibration, size_t index,
                            ms_calibration_note *note);

#endif
