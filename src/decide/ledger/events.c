/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/ledger/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/output.h"
#include "core/trace/words.h"

enum { PATH_SIZE = 256 };

typedef struct listing {
    const ms_trace *trace;
    FILE *out;
    uint32_t *tensors; /* per storage: its number in this step; 0 = it was there before */
    uint32_t line, tensor_count;
    int64_t live_bytes;
} listing;

static void write_alloc(listing *l, uint32_t id)
{
    const ms_storage *s = &l->trace->storages.items[id];
    const ms_op_exec *op = s->op == MS_NONE ? NULL : &l->trace->ops.items[s->op];
    char path[PATH_SIZE] = "";
    l->live_bytes += (int64_t)s->bytes;
    l->tensors[id] = ++l->tensor_count;
    if (s->scope != MS_NONE)
        ms_trace_scope_path(l->trace, s->scope, path, sizeof path);
    const char *name = l->trace->names.items[s->name];
    fprintf(l->out,
            "%6" PRIu32 " + %12" PRIu64 " %14" PRId64 "  t%-6" PRIu32 " %-28s %-26s %s%s%s\n",
            l->line, s->bytes, l->live_bytes, l->tensors[id], op ? op->name : "",
            op ? ms_pass_words.items[op->pass] : "", path, *path && *name ? "." : "", name);
    l->line += 1;
}

/* A free takes two numbers: PyTorch's list has a line for the request and one for its completion.
 */
static void write_free(listing *l, uint32_t id)
{
    const ms_storage *s = &l->trace->storages.items[id];
    l->live_bytes -= (int64_t)s->bytes;
    fprintf(l->out, "%6" PRIu32 " - %12" PRIu64 " %14" PRId64 "  ", l->line, s->bytes,
            l->live_bytes);
    if (l->tensors[id])
        fprintf(l->out, "t%" PRIu32 "\n", l->tensors[id]);
    else
        fputs("t(before)\n", l->out);
    l->line += 2;
}

ms_status ms_events_write(const ms_trace *trace, const ms_usage *usage, FILE *out, ms_error *err)
{
    listing l = {.trace = trace, .out = out};
    l.tensors = calloc((size_t)trace->storages.count + 1, sizeof *l.tensors);
    if (!l.tensors)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the list of events");
    for (uint32_t e = usage->steady_first_event; e < usage->steady_end_event; e++) {
        const ms_event *event = &trace->events.items[e];
        switch ((ms_event_kind)event->kind) {
        case MS_EVENT_ALLOC:
            write_alloc(&l, event->id);
            break;
        case MS_EVENT_FREE:
            write_free(&l, event->id);
            break;
        case MS_EVENT_OP_BEGIN:
        case MS_EVENT_OP_END:
        case MS_EVENT_MARK:
        case MS_EVENT_LAYER:
        case MS_EVENT_WORK:
        case MS_EVENT_WAIT:
        case MS_EVENT_RECORD:
        case MS_EVENT_HOST_EVENT:
        case MS_EVENT_HOST_WAIT:
        case MS_EVENT_EMPTY_CACHE:
            break;
        }
    }
    free(l.tensors);
    return ms_output_finish(out, "the events", err);
}
