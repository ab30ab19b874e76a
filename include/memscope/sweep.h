/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Many runs: a grid of values, or a table of runs, with a row of figures for each.
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
/* The values of a field that is a choice, or example values; NULL past the last, and for any other
 * field. */
const char *ms_sweep_field_choice(const char *field, size_t index);
ms_status ms_sweep_set(ms_sweep *sweep, const char *field, const char *value, ms_error *err);
/* The value of a field that decides how rows are written: "format", "objectives", and "frontier"
 * and "shard", which are "" when they are off. NULL for other fields. */
const char *ms_sweep_get(const ms_sweep *sweep, const char *field);

/* Adds values of a field of the run: "1,2,4", "1024:131072:*2", "8:64:+8", "all". Every point has
 * one of them. Lists of values that contain commas are split at ";". */
ms_status ms_sweep_set_run(ms_sweep *sweep, const char *field, const char *values, ms_error *err);

/* As ms_run_set_inputs; call it before ms_sweep_open. */
void ms_sweep_set_inputs(ms_sweep *sweep, ms_inputs *inputs);

/* Reads the table of runs, counts the points. Nothing can be set afterwards. */
ms_status ms_sweep_open(ms_sweep *sweep, ms_error *err);

typedef struct ms_sweep_progress {
    uint64_t points; /* of the whole sweep */
    uint64_t rows;   /* of this shard */
    uint64_t done;   /* of those, the written ones, also by an earlier run */
    uint64_t errors; /* of those, the ones without figures */
} ms_sweep_progress;
const ms_sweep_progress *ms_sweep_progress_of(const ms_sweep *sweep);

/* The line before the first row, with its line break; "" if the format has none. */
const char *ms_sweep_header(const ms_sweep *sweep);

/* Continues after the rows that are in the file, which is read from its start. Refuses rows of
 * another sweep. The first *whole_bytes of the file are to be kept; an incomplete row may follow
 * them. */
ms_status ms_sweep_resume(ms_sweep *sweep, FILE *written, const char *name, uint64_t *whole_bytes,
                          ms_error *err);

/* Receives each row, with its line break, in order and one at a time, on any thread. A result other
 * than MS_OK ends the run. */
typedef ms_status (*ms_sweep_take)(void *context, const char *row, size_t length, ms_error *err);

/* MS_ERR_STOPPED when ms_sweep_stop was called before the last row. A point without figures is a
 * row that says why, not a failure. */
ms_status ms_sweep_run(ms_sweep *sweep, ms_sweep_take take, void *context, ms_error *err);

/* Makes ms_sweep_run end once the points in progress are written. Safe in a signal handler and in
 * any thread; it applies to every later call as well. */
void ms_sweep_stop(ms_sweep *sweep);

/* Joins files of rows and proves that they contain every point of one sweep once. */
ms_status ms_sweep_merge(const char *const *paths, size_t count, FILE *out, ms_error *err);

/* Writes the Pareto front: the rows that fit and that no other row beats in `objectives`, names of
 * columns separated by commas; NULL: the usual ones. The file is read twice, from its start. */
ms_status ms_sweep_frontier(FILE *rows, const char *name, const char *objectives, FILE *out,
                            ms_error *err);

/* Writes rows in CSV as a table for people, in their order, with the options that differ from row
 * to row. The file is read from where it is. MS_ERR_LIMIT: it has more than 100,000 rows. */
ms_status ms_sweep_write_table(FILE *rows, const char *name, const ms_style *style, FILE *out,
                               ms_error *err);

/* Names of the formats; NULL past the last. */
const char *ms_sweep_format_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
