/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A file of rows, written one by one.
 */
#ifndef MS_CLI_OUTPUT_ROWS_FILE_H
#define MS_CLI_OUTPUT_ROWS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/output/file.h"
#include "memscope/error.h"

/* Rows may take hours. They are appended to `PATH.part`, which is renamed when all are written.
 * After an interruption the file has only complete rows, and possibly an incomplete last one. */
typedef struct ms_cli_rows {
    const char *path; /* NULL: standard output */
    ms_cli_place place;
    char *part; /* NULL: the rows are written in place */
    int fd;
    bool is_whole;  /* there was no part file to resume, but the complete file */
    bool is_closed; /* the reader has closed standard output */
    uint64_t whole_bytes;
} ms_cli_rows;

/* Opens the file for the rows. With `resume` existing rows are kept, else they are discarded. */
ms_status ms_cli_rows_open(ms_cli_rows *rows, const char *path, bool resume, ms_error *err);
/* Opens the existing rows for reading; the caller closes the file. NULL after a failure. */
FILE *ms_cli_rows_read(const ms_cli_rows *rows, ms_error *err);
/* Truncates to that many bytes. */
ms_status ms_cli_rows_cut(ms_cli_rows *rows, uint64_t bytes, ms_error *err);
/* Appends a row; an ms_sweep_take. */
ms_status ms_cli_rows_add(void *rows, const char *text, size_t length, ms_error *err);
/* Completes the file: all rows are written. */
ms_status ms_cli_rows_finish(ms_cli_rows *rows, ms_error *err);
void ms_cli_rows_close(ms_cli_rows *rows);

#endif
