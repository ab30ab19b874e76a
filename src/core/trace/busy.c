/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/busy.h"

#include <stdlib.h>

static int by_begin(const void *left, const void *right)
{
    const ms_busy_span *a = left, *b = right;
    if (a->begin_ms < b->begin_ms || a->begin_ms > b->begin_ms)
        return a->begin_ms < b->begin_ms ? -1 : 1;
    return a->end_ms < b->end_ms ? -1 : a->end_ms > b->end_ms;
}

double ms_busy_ms(ms_busy_spans *spans)
{
    double sum = 0, covered = 0; /* covered: up to where */
    if (spans->count)
        qsort(spans->items, spans->count, sizeof *spans->items, by_begin);
    for (uint32_t i = 0; i < spans->count; i++) {
        const ms_busy_span *s = &spans->items[i];
        double begin = i == 0 || s->begin_ms > covered ? s->begin_ms : covered;
        if (s->end_ms <= begin)
            continue;
        sum += (s->end_ms - begin) * s->weight;
        covered = s->end_ms;
    }
    return sum;
}
