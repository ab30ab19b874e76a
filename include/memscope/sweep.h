/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Many runs: a grid of values, or a table of runs, each a row of figures.
 *
 *     ms_error err = {0};
 *     ms_sweep *sweep = ms_sweep_create();
 *     ms_sweep_set_run(sweep, "config", "llama-3.1-8b", &err);
 *     ms_sweep_set_run(sweep, "seq", "1024:131072:*2", &err);
 *     ms_sweep_open(sweep, &err);
 *     fputs(ms_sweep_header(sweep), stdout);
 *     ms_sweep_run(sweep, print_row, NULL, &err);
 *     ms_sweep_free(sweep);
 *
 * The rows are the same, and in the same order, for any number of threads.
 */
#ifndef MEMSCOPE_SWEEP_H
#define MEMSCOPE_SWEEP_H

#include "memscope/memscope.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ms_sweep ms_sweep;

ms_sweep *ms_sweep_create(void); /* NULL when out of memory */
void ms_sweep_free(ms_sweep *sweep);

/* One row per field; a field without value_name is a flag and takes "true" or "false". */
const ms_run_field *ms_sweep_fields(size_t *count);
/* The values of a field that is a choice, or values to begin with; NULL past the last, and of any
 * other field. */
const char *ms_sweep_field_choice(const char *field, size_t index);
ms_status ms_sweep_set(ms_sweep *sweep, const char *field, const char *value, ms_error *err);
/* What a field was set to, where it decides how rows are written: "format", "objectives", and
 * "frontier", "" when that is off. NULL for others. */
const char *ms_sweep_get(const ms_sweep *sweep, const char *field);

/* Adds values of a field of the run: "1,2,4", "1024:131072:*2", "8:64:+8", "all". Every point has
 * one of them. Lists of values that hold commas are cut at ";". */
ms_status ms_sweep_set_run(ms_sweep *sweep, const char *field, const char *values, ms_error *err);

/* As ms_run_set_inputs; before ms_sweep_open. */
void ms_sweep_set_inputs(ms_sweep *sweep, ms_inputs *inputs);

/* Reads the table of runs, counts the points. Nothing can be set afterwards. */
ms_status ms_sweep_open(ms_sweep *sweep, ms_error *err);

typedef struct ms_sweep_progress {
    uint64_t points; /* of the whole sweep */
    uint64_t rows;   /* of this shard */
    uint64_t done;   /* of those, written, by an earlier run too */
    uint64_t errors; /* of those, without figures */
} ms_sweep_progress;
const ms_sweep_progress *ms_sweep_progress_of(const ms_sweep *sweep);

/* The line before the first row, with its line break; "" where the format has none. */
const char *ms_sweep_header(const ms_sweep *sweep);

/* Goes on after the rows that are in the file, which is read from its start. Refuses rows of
 * another sweep. *whole_bytes are to be kept; what follows them is a row that was cut. */
ms_status ms_sweep_resume(ms_sweep *sweep, FILE *written, const char *name, uint64_t *whole_bytes,
                          ms_error *err);

/* Gets each row, with its line break, in order and one at a time, from any thread. What is not
 * MS_OK ends the run. */
typedef ms_status (*ms_sweep_take)(void *context, const char *row, size_t length, ms_error *err);

/* MS_ERR_STOPPED when ms_sweep_stop came before the last row. A point without figures is a row that
 * says why, no failure. */
ms_status ms_sweep_run(ms_sweep *sweep, ms_sweep_take take, void *context, ms_error *err);

/* Makes ms_sweep_run end once the points under way are written. Safe in a signal handler and in any
 * thread; holds for every later call. */
void ms_sweep_stop(ms_sweep *sweep);

/* Joins files of rows and proves that they hold every point of one sweep once. */
ms_status ms_sweep_merge(const char *const *paths, size_t count, FILE *out, ms_error *err);

/* Writes those rows that fit and that no other row beats in `objectives`, names of columns with
 * commas between; NULL: the usual ones. The file is read twice, from its start. */
ms_status ms_sweep_frontier(FILE *rows, const char *name, const char *objectives, FILE *out,
                            ms_error *err);

/* Names of the formats; NULL past the last. */
const char *ms_sweep_format_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
