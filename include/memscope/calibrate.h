/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fits device properties that cannot be derived to measured steps: the context, workspaces and
 * margin, and how far operators stay from the device's rates.
 *
 *     ms_error err = {0};
 *     ms_calibrator *c = ms_calibrator_create();
 *     ms_calibrator_add_pair(c, "a/static_report.json", "a/runtime_report.json", &err);
 *     ...
 *     ms_calibrator_fit(c, &err);
 *     ms_calibrator_write(c, "json", stdout, &err);
 *     ms_calibrator_free(c);
 *
 * The JSON that it writes is a file for the field "calibration" of a run.
 */
#ifndef MEMSCOPE_CALIBRATE_H
#define MEMSCOPE_CALIBRATE_H

#include <stdbool.h>

#include "memscope/memscope.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MS_CALIBRATION_SCHEMA_VERSION "1.1"

typedef struct ms_calibrator ms_calibrator;

ms_calibrator *ms_calibrator_create(void); /* NULL when out of memory */
void ms_calibrator_free(ms_calibrator *calibrator);

/* Adds a point: a run's static report and the runtime report of the same run. */
ms_status ms_calibrator_add_pair(ms_calibrator *calibrator, const char *predicted_path,
                                 const char *measured_path, ms_error *err);
/* Adds a table of points in CSV; memscope(1) lists its columns. "-" is standard input. */
ms_status ms_calibrator_add_table(ms_calibrator *calibrator, const char *path, ms_error *err);

/* Adds the links, rates and context of one device: device_links.json of `memscope probe --links`.
 * Refuses those of a simulated device, and those that were measured on another device. */
ms_status ms_calibrator_add_links(ms_calibrator *calibrator, const char *path, ms_error *err);
/* Whether the file is one of those; it is not where it cannot be read. Fails only when out of
 * memory. */
ms_status ms_calibrator_is_links(const char *path, bool *is_links, ms_error *err);

/* What is to be known of the points; NULL past the last. */
const char *ms_calibrator_note(const ms_calibrator *calibrator, size_t index);

/* Fits the parameters. Fails when the points are of several devices, or too few for any parameter.
 */
ms_status ms_calibrator_fit(ms_calibrator *calibrator, ms_error *err);

/* After a fit: "console", "json", "md" or "html". */
ms_status ms_calibrator_write(const ms_calibrator *calibrator, const char *format, FILE *out,
                              ms_error *err);
const char *ms_calibrator_format_at(size_t index); /* NULL past the last */
void ms_calibrator_set_style(ms_calibrator *calibrator, const ms_style *style);

#ifdef __cplusplus
}
#endif
#endif
