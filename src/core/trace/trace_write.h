/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writes a trace as JSON lines: each line is an object with one member, whose name is the kind of
 * the line: a head, the tables, then the events in order. schemas/trace.schema.json defines the
 * format.
 */
#ifndef MS_CORE_TRACE_TRACE_WRITE_H
#define MS_CORE_TRACE_TRACE_WRITE_H

#include <stdio.h>

#include "core/trace/trace.h"

#define MS_TRACE_VERSION "1.0"

/* Facts about a trace in its file; a text may be NULL: unknown. */
typedef struct ms_trace_facts {
    const char *made_by; /* "memscope 0.1.0" */
    const char *run;     /* description of the run */
} ms_trace_facts;

/* The caller checks `out` for errors. The same trace and facts give the same bytes. */
void ms_trace_write(const ms_trace *trace, const ms_trace_facts *facts, FILE *out);

#endif
