/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A file of rows that come one by one.
 */
#ifndef MS_CLI_OUTPUT_ROWS_FILE_H
#define MS_CLI_OUTPUT_ROWS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/output/place.h"
#include "memscope/error.h"

/* Rows that take hours to come. They are appended to `PATH.part`, which gets its
 * name when they are all there. Whatever happens, whole rows are on the disk. */
typedef struct ms_cli_rows {
    const char *path; /* NULL: standard output */
    ms_cli_place place;
    char *part; /* NULL: the rows are written in place */
    int fd;
    bool is_whole;  /* no part was there to go on with, but the file itself */
    bool is_closed; /* the reader of the rows is gone */
    uint64_t whole_bytes;
} ms_cli_rows;

/* Opens what the rows go to. With `resume` nothing that is there is lost, else it goes. */
ms_status ms_cli_rows_open(ms_cli_rows *rows, const char *path, bool resume, ms_error *err);
/* What is there already, from its start, to be closed; NULL after a failure. */
FILE *ms_cli_rows_read(const ms_cli_rows *rows, ms_error *err);
/* Keeps that many bytes. */
ms_status ms_cli_rows_cut(ms_cli_rows *rows, uint64_t bytes, ms_error *err);
/* Fits ms_sweep_take. */
ms_status ms_cli_rows_add(void *rows, const char *text, size_t length, ms_error *err);
/* All rows are there. */
ms_status ms_cli_rows_finish(ms_cli_rows *rows, ms_error *err);
void ms_cli_rows_close(ms_cli_rows *rows);

#endif
