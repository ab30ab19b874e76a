/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writing files completely or not at all.
 */
#ifndef MS_CLI_OUTPUT_FILE_H
#define MS_CLI_OUTPUT_FILE_H

#include <stdio.h>
#include <sys/types.h>

#include "memscope/check.h"
#include "memscope/diff.h"
#include "memscope/fit.h"
#include "memscope/memscope.h"
#include "memscope/plan.h"
#include "memscope/recorded.h"

/* The content of a file. `write` writes all of it; the caller of `write` checks the stream for
 * errors. */
typedef struct ms_cli_source ms_cli_source;
struct ms_cli_source {
    ms_status (*write)(FILE *out, const ms_cli_source *source, ms_error *err);
    ms_analysis *analysis;
    const char *format;
    const ms_plan *plan; /* for `plan`, instead of the analysis */
    const ms_fit *fit;   /* for `fit` */
    const ms_comparison *comparison;
    const ms_check *check;
    size_t index;                         /* of the baseline */
    const void *data;                     /* for others */
    const ms_recorded *recorded, *second; /* for `capture` and `compare` */
};

/* Writes a file completely or not at all: writes a temporary file beside it, syncs and renames it.
 * Devices and pipes are written in place; "-" is standard output, whose reader may close it. */
ms_status ms_cli_write_file(const char *path, const ms_cli_source *source, ms_error *err);

/* The same for a file that is not there yet: fails if one is by the time it is complete. */
ms_status ms_cli_write_new_file(const char *path, const ms_cli_source *source, ms_error *err);

/* Writes to standard error, whose reader may close it. */
ms_status ms_cli_write_stderr(const ms_cli_source *source, ms_error *err);

/* Appends to a file, which is created if missing. */
ms_status ms_cli_append_file(const char *path, const ms_cli_source *source, ms_error *err);

/* ---- place ---- */

/* The destination of a result: found, checked against inputs, and its folders created. */

/* "-" for the names that Linux has for standard output, such as /dev/stdout; else the path. */
const char *ms_cli_path(const char *path);

/* A checked destination. */
typedef struct ms_cli_place {
    bool is_stdout;
    char *target; /* the file to replace, with links resolved; the caller frees it. NULL: written in
                     place, as devices and pipes */
    mode_t mode;  /* of that file, or of a new one */
    bool is_new;  /* the caller's: nothing may be there by the time it is written */
} ms_cli_place;

/* `path`: "-" or NULL for standard output. Fails if it must not be written (guard.h). */
ms_status ms_cli_find_place(const char *path, ms_cli_place *place, ms_error *err);

/* Fails where the destination cannot be written, or a file in its folder cannot be made: before
 * work that takes long. */
ms_status ms_cli_check_place(const char *path, ms_error *err);

/* Creates the folder and its parents. */
ms_status ms_cli_make_directory(const char *path, ms_error *err);

#endif
