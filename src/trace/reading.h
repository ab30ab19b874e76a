/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trace while it is read: its lines behind the first, and what they may refer to.
 */
#ifndef MS_TRACE_READING_H
#define MS_TRACE_READING_H

#include "trace/rows.h"
#include "trace/trace_read.h"

/* What the first line announces. */
typedef struct ms_trace_head {
    uint32_t names, symbols, scopes, streams, storages, ops, events;
} ms_trace_head;

typedef struct ms_trace_reading {
    ms_trace_file *file;
    ms_error *err;
    ms_trace_head head;
    uint32_t line; /* from 1 */
    uint32_t op;   /* that runs, or MS_NONE */
    bool is_in_phase;
    ms_mark mark;                     /* the last one */
    ms_vec(uint8_t) states;           /* per storage: not yet, allocated, freed */
    ms_vec(uint32_t) op_names;        /* lines of one name share its text: a hash table of ops */
    ms_vec(uint32_t) formula_lengths; /* per symbol */
    uint32_t op_name_count;
} ms_trace_reading;

/* An empty trace, without the streams that others begin with. */
ms_status ms_trace_reading_begin(ms_trace_reading *reading);
void ms_trace_reading_end(ms_trace_reading *reading);

/* A line behind the first: an object. */
ms_status ms_trace_reading_line(ms_trace_reading *reading, ms_json_value line);

/* MS_OK, or that memory has run out. */
ms_status ms_trace_reading_kept(const ms_trace_reading *reading, bool ok);
/* A row's members; it may refer to rows that stand before it, and to operators announced. */
ms_status ms_trace_reading_row(const ms_trace_reading *reading, const ms_members *members,
                               ms_json_value v, void *row);
/* The number of one of `count` things, which are called `what`. */
ms_status ms_trace_reading_number(const ms_trace_reading *reading, ms_json_value v, uint32_t count,
                                  const char *what, uint32_t *number);
ms_status ms_trace_reading_event(const ms_trace_reading *reading, ms_event_kind kind, uint32_t id);

/* A copy that the trace owns. */
ms_status ms_trace_reading_keep(ms_trace_reading *reading, const char *text, const char **copy);

#endif
