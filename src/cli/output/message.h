/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Messages to people, on standard error, and the errors that they are made of. Only
 * ms_cli_complain prints errors.
 */
#ifndef MS_CLI_OUTPUT_MESSAGE_H
#define MS_CLI_OUTPUT_MESSAGE_H

#include <stddef.h>

#include "memscope/error.h"

/* What ms_printable makes of a text for a message; returns `out`. */
enum { MS_CLI_PRINTABLE_BYTES = 4096 };
const char *ms_cli_printable(const char *text, char out[MS_CLI_PRINTABLE_BYTES]);

/* Prints a line to standard error as ms_printable has it. */
__attribute__((format(printf, 1, 2))) void ms_cli_say(const char *format, ...);

/* Prints the error (file, place, path, text, source line, caret) and returns the exit code. */
int ms_cli_complain(const ms_error *err);

/* The same where memory ran out before there was anything to ask. */
int ms_cli_no_memory(void);

/* Fills err, with `text` as the reason; keeps an error that is already there. Returns its status.
 */
__attribute__((format(printf, 3, 4))) ms_status ms_cli_fail(ms_error *err, ms_status status,
                                                            const char *format, ...);

/* The same for an errno of libc: "cannot read x: No such file or directory". */
ms_status ms_cli_fail_errno(ms_error *err, const char *what, const char *path);

/* Yields names until NULL. */
typedef const char *(*ms_cli_name_at)(const void *list, size_t index);

enum { MS_CLI_HINT_BYTES = 64 };

/* "; did you mean --batch?" when a name is near, else ""; `dashes` go before it. Returns `out`. */
const char *ms_cli_hint(const char *name, ms_cli_name_at name_at, const void *list,
                        const char *dashes, char out[MS_CLI_HINT_BYTES]);

#endif
