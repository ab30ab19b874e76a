/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The whole resolved run as named fields: one list for all reports. The rows of options
 * (input/config/run/run_field_list.h) define their values.
 */
#ifndef MS_REPORT_VIEW_METADATA_H
#define MS_REPORT_VIEW_METADATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "input/config/run/run_fields.h"
#include "report/kit/field.h"

/* Fills the list; items and texts belong to the arena. False when out of memory. */
bool ms_metadata_fill(const ms_run_seen *seen, ms_arena *arena, ms_field_list *list);

/* The text of a field, e.g. "optimizer"; "" if absent. */
const char *ms_metadata_text(const ms_field *fields, uint32_t count, const char *name);

#endif
