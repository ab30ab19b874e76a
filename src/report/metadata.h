/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The whole resolved run as named fields: one list for every report.
 */
#ifndef MS_REPORT_METADATA_H
#define MS_REPORT_METADATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "config/model_config.h"
#include "config/run_config.h"
#include "json/write.h"

typedef enum ms_field_kind {
    MS_FIELD_TEXT,
    MS_FIELD_COUNT,
    MS_FIELD_BOOL,
    MS_FIELD_NUMBER,
    MS_FIELD_NULL
} ms_field_kind;

typedef enum ms_field_group {
    MS_FIELD_RUN,   /* an option of the run */
    MS_FIELD_MODEL, /* of the model, as read */
    MS_FIELD_DETAIL /* for programs; people see it elsewhere or do not ask */
} ms_field_group;

typedef struct ms_field {
    const char *name;
    ms_field_group group;
    ms_field_kind kind;
    const char *text;
    uint64_t count; /* also of MS_FIELD_BOOL */
    double number;
} ms_field;

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

/* "1", "adamw", "none"; returns the length needed. */
uint32_t ms_field_value(const ms_field *field, char *out, uint32_t size);

/* The field as a member of the object that is open. */
void ms_field_json(ms_json_writer *w, const ms_field *f);

#endif
