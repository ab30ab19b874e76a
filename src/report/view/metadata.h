/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The whole resolved run as named fields: one list for every report. What it says of options is in
 * their rows (config/run/run_field_list.h).
 */
#ifndef MS_REPORT_VIEW_METADATA_H
#define MS_REPORT_VIEW_METADATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "config/run/run_fields.h"
#include "report/kit/field.h"

/* Fills the list; items and texts belong to the arena. False when out of memory. */
bool ms_metadata_fill(const ms_run_seen *seen, ms_arena *arena, ms_field_list *list);

/* The text of a field, e.g. of "optimizer"; "" when there is none. */
const char *ms_metadata_text(const ms_field *fields, uint32_t count, const char *name);

#endif
