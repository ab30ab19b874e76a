/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The points of a sweep: each run of a table with each combination of the axes' values, the last
 * axis fastest. Points are made one at a time, in order.
 */
#ifndef MS_DECIDE_SWEEP_GRID_H
#define MS_DECIDE_SWEEP_GRID_H

#include "decide/sweep/table.h"
#include "input/config/load/load.h"

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

typedef struct ms_grid {
    ms_arena *arena;
    ms_vec(ms_sweep_axis) axes; /* in the order in which their fields were first named */
    ms_table table;
    bool has_table;
    ms_vec(char *) cells; /* of the last run read from the table */
    ms_status line_status;
    ms_error line_error; /* the error of that run */
    uint64_t count;      /* of all points */
    uint64_t per_run;    /* points for each run of the table */
} ms_grid;

/* A point: the settings of its run. */
typedef struct ms_point {
    uint64_t index;
    ms_run_setting *settings; /* one per input of the grid; value NULL: not set */
    ms_status status;         /* not MS_OK: the point has no settings */
    ms_error err;
} ms_point;

void ms_grid_free(ms_grid *grid);

/* Adds values of a field; see ms_sweep_axis_add. */
ms_status ms_grid_add(ms_grid *grid, const char *field, const char *list, ms_error *err);

/* Opens the table at `path` (NULL: none) and counts the points. */
ms_status ms_grid_open(ms_grid *grid, const char *path, ms_error *err);

/* Extends the digest by everything that determines the points: values, and contents of the files
 * they name. */
ms_status ms_grid_digest(ms_grid *grid, uint64_t *digest, ms_error *err);

/* The fields that each point sets: the table's columns, then the axes. */
uint32_t ms_grid_input_count(const ms_grid *grid);
size_t ms_grid_input_field(const ms_grid *grid, uint32_t input);

/* Reads the point of that index, which must be larger than in the previous call. An invalid line of
 * the table is a point with a status; a failure of this call ends the sweep. Texts are in the
 * arena. */
ms_status ms_grid_read(ms_grid *grid, uint64_t index, ms_arena *arena, ms_point *point,
                       ms_error *err);

/* ---- axis ---- */

/* An axis of a grid: the values of one field of the run, or of inference. Ranges are not expanded,
 * so a long one takes no memory. */

void ms_sweep_axis_free(ms_sweep_axis *axis);

/* Adds the values of a list: "1,2,4", "1024:131072:*2", "8:64:+8", "1:4", or "all" if the field is
 * a choice. ";" splits any list, and is required for values that contain commas. Every value is
 * checked. Texts belong to the arena. */
ms_status ms_sweep_axis_add(ms_sweep_axis *axis, ms_arena *arena, const char *list, ms_error *err);

/* The value as on the command line. NULL when out of memory. */
const char *ms_sweep_axis_value(const ms_sweep_axis *axis, uint64_t index, ms_arena *arena);

#endif
