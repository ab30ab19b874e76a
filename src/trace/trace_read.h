/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trace read back from a file that ms_trace_write wrote, or that says the same. Whatever the file
 * holds, the trace that it gives can be measured: every number is one of a row that is there, what
 * is freed was allocated, marks open and close.
 */
#ifndef MS_TRACE_TRACE_READ_H
#define MS_TRACE_TRACE_READ_H

#include "base/error.h"
#include "trace/trace_write.h"

typedef struct ms_trace_file {
    ms_trace trace;
    ms_trace_facts facts; /* texts of the trace */
} ms_trace_file;

/* `name` is what messages call the file. Release the trace with ms_trace_free; on failure nothing
 * is left to free. MS_ERR_SYNTAX, MS_ERR_CONFIG: the message has file, line, column and pointer. */
ms_status ms_trace_read(FILE *file, const char *name, ms_trace_file *read, ms_error *err);

#endif
