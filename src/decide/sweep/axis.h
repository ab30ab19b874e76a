/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An axis of a grid: the values of one field of the run, or of inference. Ranges are not expanded,
 * so a long one takes no memory.
 */
#ifndef MS_DECIDE_SWEEP_AXIS_H
#define MS_DECIDE_SWEEP_AXIS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "input/config/fields/field.h"

/* Whose fields the axes are. */
typedef struct ms_sweep_axis_of {
    const ms_config_table *table;
    /* Refuses a value of a field. */
    ms_status (*check)(ms_arena *arena, const char *field, const char *value, ms_error *err);
    bool texts_have_commas; /* a field of any text is split at ";" alone */
} ms_sweep_axis_of;

/* A part of the values: one text, or a range of numbers from `first` on. */
typedef struct ms_sweep_axis_part {
    const char *text; /* NULL: a range */
    uint64_t first, step, count;
    bool multiplies; /* each number is the previous one times `step`, else plus `step` */
} ms_sweep_axis_part;

typedef struct ms_sweep_axis {
    const ms_sweep_axis_of *of; /* NULL: a run's */
    size_t field;               /* index in the table */
    uint64_t count;
    ms_vec(ms_sweep_axis_part) parts;
} ms_sweep_axis;

void ms_sweep_axis_free(ms_sweep_axis *axis);

/* Adds the values of a list: "1,2,4", "1024:131072:*2", "8:64:+8", "1:4", or "all" if the field is
 * a choice. ";" splits any list, and is required for values that contain commas. Every value is
 * checked. Texts belong to the arena. */
ms_status ms_sweep_axis_add(ms_sweep_axis *axis, ms_arena *arena, const char *list, ms_error *err);

/* The value as on the command line. NULL when out of memory. */
const char *ms_sweep_axis_value(const ms_sweep_axis *axis, uint64_t index, ms_arena *arena);

#endif
