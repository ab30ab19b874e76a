/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Prevents outputs from overwriting inputs of this call, or one another. ms_cli_find_place checks
 * every output; commands that write several files check all of them before writing the first.
 */
#ifndef MS_CLI_OUTPUT_GUARD_H
#define MS_CLI_OUTPUT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "memscope/inputs.h"

/* The list of this call's inputs, between begin and end; NULL: out of memory. */
ms_inputs *ms_cli_guard_begin(void);
void ms_cli_guard_end(void);
ms_inputs *ms_cli_inputs(void);

/* Records a file that is about to be read; "-" is standard input. */
ms_status ms_cli_guard_input(const char *path, ms_error *err);

/* Fails if the file of that name was read; "-" is standard output. */
ms_status ms_cli_guard_output(const char *path, ms_error *err);

/* Fails if the path is a dangling link, which could point to any file by the time it is written. */
ms_status ms_cli_refuse_link_to_nothing(const char *path, ms_error *err);

/* Files to write; no two may be the same file. */
enum { MS_CLI_MAX_OUTPUTS = 16 }; /* of --output */

enum { MS_CLI_MOST_TARGETS = MS_CLI_MAX_OUTPUTS + 8 };

typedef struct ms_cli_targets {
    char *paths[MS_CLI_MOST_TARGETS];
    size_t count;
    bool has_failed; /* out of memory */
} ms_cli_targets;

/* Adds a file; `folder`: its folder, or NULL. */
void ms_cli_targets_add(ms_cli_targets *targets, const char *folder, const char *name);
/* Checks all of them, and frees the names. */
ms_status ms_cli_targets_check(ms_cli_targets *targets, ms_error *err);

/* ---- interrupt ---- */

/* Signals that stop a running search. */

/* The first such signal calls `stop`, a second one ends the program; NULL as `stop` restores the
 * default. A signal that the parent process set to be ignored stays ignored. */
typedef void (*ms_cli_stop)(void *what);
void ms_cli_stop_on_signal(int number, ms_cli_stop stop, void *what);

#endif
