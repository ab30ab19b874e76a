/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The destination of a result: found, checked against inputs, and its folders created.
 */
#ifndef MS_CLI_OUTPUT_PLACE_H
#define MS_CLI_OUTPUT_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "memscope/error.h"

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
