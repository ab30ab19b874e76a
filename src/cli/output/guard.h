/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nothing that was read in this run is written over, and no output takes another's place. Every
 * place that ms_cli_find_place gives was looked at here; who writes more than one file looks at
 * all of them before the first.
 */
#ifndef MS_CLI_OUTPUT_GUARD_H
#define MS_CLI_OUTPUT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "memscope/inputs.h"

/* The list of this run's inputs, between the two calls; NULL: memory was short. */
ms_inputs *ms_cli_guard_begin(void);
void ms_cli_guard_end(void);
ms_inputs *ms_cli_inputs(void);

/* Puts down a file that is about to be read by name; "-" is standard input. */
ms_status ms_cli_guard_input(const char *path, ms_error *err);

/* Fails where the file of that name was read; "-" is standard output. */
ms_status ms_cli_guard_output(const char *path, ms_error *err);

/* Fails where the path is a link to no file: it could become any file before it is written. */
ms_status ms_cli_refuse_link_to_nothing(const char *path, ms_error *err);

/* What is to be written: names, of which two may not be one file. */
enum { MS_CLI_MAX_OUTPUTS = 16 }; /* of --output */
enum { MS_CLI_MOST_TARGETS = MS_CLI_MAX_OUTPUTS + 8 };
typedef struct ms_cli_targets {
    char *paths[MS_CLI_MOST_TARGETS];
    size_t count;
    bool has_failed; /* memory was short */
} ms_cli_targets;

/* `folder`: where the file is, or NULL. */
void ms_cli_targets_add(ms_cli_targets *targets, const char *folder, const char *name);
/* Looks at all of them, and frees the names. */
ms_status ms_cli_targets_check(ms_cli_targets *targets, ms_error *err);

#endif
