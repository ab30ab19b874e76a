/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where a result goes.
 */
#ifndef MS_CLI_OUTPUT_PLACE_H
#define MS_CLI_OUTPUT_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "memscope/error.h"

/* Where a result goes. */
typedef struct ms_cli_place {
    bool is_stdout;
    char *target; /* the file to replace, behind every link, for free(); NULL: written in place, as
                     devices and pipes are */
    mode_t mode;  /* of that file, or of a new one */
} ms_cli_place;

/* `path`: "-" or NULL for standard output. Fails where nothing may be written. */
ms_status ms_cli_find_place(const char *path, ms_cli_place *place, ms_error *err);

/* Makes the folder and those above it. */
ms_status ms_cli_make_directory(const char *path, ms_error *err);

#endif
