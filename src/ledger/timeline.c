/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ledger/timeline.h"

enum { STRETCHES = 200 };

/* Follows the phase marks while events are asked for in ascending order. */
typedef struct sampler {
    const ms_trace *trace;
    const ms_usage *usage;
    ms_ledger *ledger;
    uint32_t next_event;
    uint8_t phase;
} sampler;

static bool add_point(sampler *s, uint32_t offset)
{
    uint32_t event = s->usage->steady_first_event + offset;
    for (; s->next_event <= event; s->next_event++) {
        const ms_event *e = &s->trace->events.items[s->next_event];
        if (e->kind == MS_EVENT_MARK && s->trace->marks.items[e->id].begin)
            s->phase = s->trace->marks.items[e->id].phase;
    }
    const ms_timeline_point point = {offset, s->phase, s->usage->live_bytes[offset]};
    uint32_t count = s->ledger->timeline.count;
    if (count && s->ledger->timeline.items[count - 1].event == offset)
        return true;
    return ms_vec_push(&s->ledger->timeline, point);
}

static bool add_stretch(sampler *s, uint32_t begin, uint32_t end)
{
    const uint64_t *live = s->usage->live_bytes;
    uint32_t low = begin, high = begin;
    for (uint32_t i = begin + 1; i < end; i++) {
        low = live[i] < live[low] ? i : low;
        high = live[i] > live[high] ? i : high;
    }
    return add_point(s, low < high ? low : high) && add_point(s, low < high ? high : low);
}

ms_status ms_timeline_sample(const ms_trace *trace, const ms_usage *usage, ms_ledger *ledger,
                             ms_error *err)
{
    sampler s = {trace, usage, ledger, usage->steady_first_event, MS_PHASE_FORWARD};
    uint32_t count = usage->steady_end_event - usage->steady_first_event;
    bool ok = count == 0 || add_point(&s, 0);
    uint32_t stretches = count < STRETCHES ? count : STRETCHES;
    for (uint32_t i = 0; ok && i < stretches; i++)
        ok = add_stretch(&s, (uint32_t)((uint64_t)count * i / stretches),
                         (uint32_t)((uint64_t)count * (i + 1) / stretches));
    ok = ok && (count == 0 || add_point(&s, count - 1));
    return ok ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "no memory for the timeline");
}
