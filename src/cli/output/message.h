/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Messages on standard error, and errors of the command line. Only ms_cli_complain prints errors.
 */
#ifndef MS_CLI_OUTPUT_MESSAGE_H
#define MS_CLI_OUTPUT_MESSAGE_H

#include <stddef.h>

#include "memscope/error.h"

/* ms_printable of a text, for messages; returns `out`. */
enum { MS_CLI_PRINTABLE_BYTES = 4096 };
const char *ms_cli_printable(const char *text, char out[MS_CLI_PRINTABLE_BYTES]);

/* Prints a line to standard error, made printable. */
__attribute__((format(printf, 1, 2))) void ms_cli_say(const char *format, ...);

/* Prints the error (file, place, path, text, source line, caret) and returns the exit code. */
int ms_cli_complain(const ms_error *err);

/* The same when memory ran out before an ms_error could be filled. */
int ms_cli_no_memory(void);

/* Fills err, with `text` as the reason; keeps an error that is already there. Returns its status.
 */
__attribute__((format(printf, 3, 4))) ms_status ms_cli_fail(ms_error *err, ms_status status,
                                                            const char *format, ...);

/* The same for an errno of libc: "cannot read x: No such file or directory". */
ms_status ms_cli_fail_errno(ms_error *err, const char *what, const char *path);

/* Returns names by index; NULL past the last. */
typedef const char *(*ms_cli_name_at)(const void *list, size_t index);

enum { MS_CLI_HINT_BYTES = 64 };

/* "; did you mean --batch?" if a name is near, else ""; `dashes` precede the name. Returns `out`.
 */
const char *ms_cli_hint(const char *name, ms_cli_name_at name_at, const void *list,
                        const char *dashes, char out[MS_CLI_HINT_BYTES]);

#endif
