/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files that are written whole or not at all.
 */
#ifndef MS_CLI_OUTPUT_FILE_H
#define MS_CLI_OUTPUT_FILE_H

#include <stdio.h>

#include "memscope/check.h"
#include "memscope/diff.h"
#include "memscope/fit.h"
#include "memscope/memscope.h"
#include "memscope/plan.h"
#include "memscope/recorded.h"

/* What a file is filled from. `write` writes all of it; that the output failed is seen here. */
typedef struct ms_cli_source ms_cli_source;
struct ms_cli_source {
    ms_status (*write)(FILE *out, const ms_cli_source *source, ms_error *err);
    ms_analysis *analysis;
    const char *format;
    const ms_plan *plan; /* for `plan`, instead of the analysis */
    const ms_fit *fit;   /* for `fit` */
    const ms_comparison *comparison;
    const ms_check *check;
    size_t index;                         /* of a baseline */
    const void *data;                     /* for others */
    const ms_recorded *recorded, *second; /* for `capture` and `compare` */
};

/* Writes a file whole or not at all: a temporary file beside it, synced, renamed. What is no
 * regular file (a device, a pipe) is written in place; "-" is stdout, whose reader may go away. */
ms_status ms_cli_write_file(const char *path, const ms_cli_source *source, ms_error *err);

/* Writes to standard error, whose reader may go away. */
ms_status ms_cli_write_stderr(const ms_cli_source *source, ms_error *err);

/* Adds to the end of a file, which is made when it is not there. */
ms_status ms_cli_append_file(const char *path, const ms_cli_source *source, ms_error *err);

#endif
