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

/* Opens a file to read it; "-" is standard input. Puts it down in `inputs`, which may be NULL. NULL
 * on failure: the reason alone, without the name, is in `err` ("No such file or directory").
 *
 * A pipe with a name has MS_PIPE_WAIT_S seconds to get a writer; once it has one, or where it is a
 * process substitution's, it is waited for as standard input is. */
enum { MS_PIPE_WAIT_S = 5 };
FILE *ms_file_open(ms_inputs *inputs, const char *path, ms_error *err);

/* Whether a pipe is there under that name, which can be read once. */
bool ms_file_is_pipe(const char *path);

/* Closes what ms_file_open gave, but for standard input; NULL is fine. */
void ms_file_close(FILE *file);

/* The next line with its end, as getline; no longer than MS_LINE_BYTES, else errno is EFBIG. */
enum { MS_LINE_BYTES = 1 << 20 };
ssize_t ms_file_line(FILE *file, char **line, size_t *bytes);

/* What strerror says, but for EFBIG, which here is a line. */
const char *ms_file_reason(int reason);

#endif
