/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads a trace from a file in the format of ms_trace_write. The file is untrusted; a trace that is
 * accepted can be measured: every index refers to an existing row, only allocated storages are
 * freed, and marks are balanced.
 */
#ifndef MS_CORE_TRACE_TRACE_READ_H
#define MS_CORE_TRACE_TRACE_READ_H

#include "base/error.h"
#include "base/inputs.h"
#include "core/trace/trace.h"

typedef struct ms_trace_file {
    ms_trace trace;
    ms_trace_facts facts; /* texts are owned by the trace */
} ms_trace_file;

/* `name` names the file in messages. Release the trace with ms_trace_free; on failure nothing is
 * left to free. MS_ERR_SYNTAX, MS_ERR_CONFIG: the message has file, line, column and pointer. */
ms_status ms_trace_read(FILE *file, const char *name, ms_trace_file *read, ms_error *err);

/* The same for the file of a path, or "-". Records it in `inputs`, which may be NULL. */
ms_status ms_trace_read_file(ms_inputs *inputs, const char *path, ms_trace_file *read,
                             ms_error *err);

#endif
