/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trace as JSON lines: each line is an object with one member, whose name is the kind of the
 * line. A head, the tables, then the events in order. schemas/trace.schema.json is the contract.
 */
#ifndef MS_TRACE_TRACE_WRITE_H
#define MS_TRACE_TRACE_WRITE_H

#include <stdio.h>

#include "trace/trace.h"

#define MS_TRACE_VERSION "1.0"

/* What a file says about its trace; a text may be NULL: not known. */
typedef struct ms_trace_facts {
    const char *made_by; /* "memscope 0.1.0" */
    const char *run;     /* what it is the trace of, in words */
} ms_trace_facts;

/* The caller looks whether `out` failed. The same trace and facts give the same bytes. */
void ms_trace_write(const ms_trace *trace, const ms_trace_facts *facts, FILE *out);

#endif
