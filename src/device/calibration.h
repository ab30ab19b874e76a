/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What measured steps say of a device that no rule tells: calibration.json, as `memscope calibrate`
 * writes it.
 */
#ifndef MS_DEVICE_CALIBRATION_H
#define MS_DEVICE_CALIBRATION_H

#include "device/device.h"
#include "json/value.h"

typedef enum ms_parameter_kind {
    MS_PARAMETER_CONTEXT,   /* bytes that the device shows on top of reserved memory */
    MS_PARAMETER_WORKSPACE, /* bytes reserved in addition to the prediction, for any run */
    MS_PARAMETER_MARGIN,  /* share of the predicted reserved memory that comes on top: fragmentation
                           */
    MS_PARAMETER_PRODUCT, /* times of operators over the roofline's, by ms_op_class */
    MS_PARAMETER_ATTENTION,
    MS_PARAMETER_OTHER,
    MS_PARAMETER_HOST_LINK, /* bytes per second, each way */
    MS_PARAMETER_PEER_LINK, /* bytes per second */
    MS_PARAMETER_COUNT
} ms_parameter_kind;

typedef struct ms_parameter_row {
    const char *name; /* "context_bytes" */
    const char *title;
    double least, most; /* what is beyond is taken as a mistake */
    bool is_bytes;      /* a whole number of them */
} ms_parameter_row;
extern const ms_parameter_row ms_parameter_rows[]; /* by ms_parameter_kind */

/* points 0: not fitted. `low` and `high`: what it is without one of the points; of the context,
 * its least and its most. */
typedef struct ms_fitted {
    uint32_t points;
    double value, low, high;
} ms_fitted;

typedef struct ms_calibration {
    const char *device; /* its name in the table */
    uint32_t points;
    ms_fitted parameters[MS_PARAMETER_COUNT];
} ms_calibration;

/* Refuses what `memscope calibrate` would not write. Texts go into the arena. */
ms_status ms_calibration_read(ms_arena *arena, ms_json_value root, ms_calibration *calibration,
                              ms_error *err);

/* The device with the fitted values in place of those of its row. */
void ms_calibration_apply(const ms_calibration *calibration, ms_device *device);

/* A sentence for each group of figures that it touches, and the names of those figures in
 * static_report.json, separated by spaces; NULL past the last, and when out of memory. */
typedef struct ms_calibration_note {
    const char *text, *figures;
} ms_calibration_note;
bool ms_calibration_note_at(ms_arena *arena, const ms_calibration *calibration, size_t index,
                            ms_calibration_note *note);

#endif
