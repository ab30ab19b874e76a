/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files as inputs: the one place where the library opens what it reads.
 */
#ifndef MS_BASE_FILE_H
#define MS_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/inputs.h"

/* Opens a file for reading; "-" is standard input. Records it in `inputs`, which may be NULL. NULL
 * on failure; `err` then has the reason without the name ("No such file or directory"). Where the
 * inputs have a root, what is outside of it is not opened.
 *
 * A named pipe must get a writer within MS_PIPE_WAIT_S seconds. Once it has one, or if it belongs
 * to a process substitution, reading it blocks as standard input does. */
enum { MS_PIPE_WAIT_S = 5 };
FILE *ms_file_open(ms_inputs *inputs, const char *path, ms_error *err);

/* Whether `path` is a pipe, which can be read only once. */
bool ms_file_is_pipe(const char *path);

/* Closes a file of ms_file_open, except standard input; NULL is fine. */
void ms_file_close(FILE *file);

/* Reads the next line with its line break, as getline; a line over MS_LINE_BYTES sets errno to
 * EFBIG. */
enum { MS_LINE_BYTES = 1 << 20 };
ssize_t ms_file_line(FILE *file, char **line, size_t *bytes);

/* As strerror, except that EFBIG means a line that is too long. */
const char *ms_file_reason(int reason);

#endif
