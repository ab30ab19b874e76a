/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The whole resolved run as named fields: one list for every report.
 */
#ifndef MS_REPORT_VIEW_METADATA_H
#define MS_REPORT_VIEW_METADATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "config/model/model_config.h"
#include "config/run/run_config.h"
#include "report/kit/field.h"

extern const char *const ms_optimizer_device_names[]; /* by ms_optimizer_device */
extern const char *const ms_parameter_device_names[]; /* by ms_parameter_device */

enum { MS_METADATA_FIELDS = 64 };

/* What the fields are about. */
typedef struct ms_metadata_source {
    const ms_model_config *model;
    const ms_run_config *run;
    ms_attention attention; /* that the run got */
} ms_metadata_source;

/* Fills the list; texts belong to the arena. Returns the count, 0 when out of memory. */
uint32_t ms_metadata_fill(const ms_metadata_source *source, ms_arena *arena,
                          ms_field fields[MS_METADATA_FIELDS]);

/* The text of a field, e.g. of "optimizer"; "" when there is none. */
const char *ms_metadata_text(const ms_field *fields, uint32_t count, const char *name);

#endif
