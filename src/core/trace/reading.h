/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trace while it is read: the lines after the head, and the rows they may refer to.
 */
#ifndef MS_CORE_TRACE_READING_H
#define MS_CORE_TRACE_READING_H

#include "core/trace/rows.h"
#include "core/trace/trace_read.h"

/* The number of rows that the head, the first line, announces. */
typedef struct ms_trace_head {
    uint32_t names, symbols, scopes, streams, storages, ops, events;
} ms_trace_head;

typedef struct ms_trace_reading {
    ms_trace_file *file;
    ms_error *err;
    ms_trace_head head;
    uint32_t line; /* from 1 */
    uint32_t op;   /* the running operator, or MS_NONE */
    bool is_in_phase;
    ms_mark mark;              /* the last one */
    ms_vec(uint8_t) states;    /* per storage: not yet, allocated, freed */
    ms_vec(uint32_t) op_names; /* a hash table of ops by name, so that equal names share one text */
    ms_vec(uint32_t) formula_lengths; /* per symbol */
    uint32_t op_name_count;
} ms_trace_reading;

/* Begins an empty trace, without the initial streams of ms_trace_init. */
ms_status ms_trace_reading_begin(ms_trace_reading *reading);
void ms_trace_reading_end(ms_trace_reading *reading);

/* Reads a line after the head: an object. */
ms_status ms_trace_reading_line(ms_trace_reading *reading, ms_json_value line);

/* MS_OK if `ok`; otherwise records that memory ran out. */
ms_status ms_trace_reading_kept(const ms_trace_reading *reading, bool ok);
/* Reads a row's members. It may refer to rows before it and to announced operators. */
ms_status ms_trace_reading_row(const ms_trace_reading *reading, const ms_members *members,
                               ms_json_value v, void *row);
/* Reads an index below `count`; `what` names the rows in messages. */
ms_status ms_trace_reading_number(const ms_trace_reading *reading, ms_json_value v, uint32_t count,
                                  const char *what, uint32_t *number);
ms_status ms_trace_reading_event(const ms_trace_reading *reading, ms_event_kind kind, uint32_t id);

/* A copy that the trace owns. */
ms_status ms_trace_reading_keep(ms_trace_reading *reading, const char *text, const char **copy);

#endif
