/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/compare/compare_parting.h"

#include "decide/compare/compare_rows.h"
#include "decide/compare/compare_view.h"

/* Both steps may be sampled: only events that are in both lists can be compared against each other.
 * A difference that is there from the start is no parting; its change is. */
void ms_compare_parting_find(ms_compare_view *view)
{
    const ms_recorded *a = view->first, *b = view->second;
    ms_compare_parting *p = &view->parting;
    *p = (ms_compare_parting){.phase = ""};
    if (a->point_count > 0 && b->point_count > 0) {
        p->first_events = a->events ? a->events : a->timeline[a->point_count - 1].event;
        p->second_events = b->events ? b->events : b->timeline[b->point_count - 1].event;
    }
    for (uint32_t i = 0, j = 0; i < a->point_count && j < b->point_count && !p->has_parted;) {
        const ms_recorded_point *x = &a->timeline[i], *y = &b->timeline[j];
        if (x->event != y->event) {
            i += x->event < y->event;
            j += y->event < x->event;
            continue;
        }
        if (!p->is_known)
            p->from_start = ms_compare_residual(x->bytes, y->bytes);
        p->is_known = true;
        p->has_parted = ms_compare_residual(x->bytes, y->bytes) != p->from_start;
        if (p->has_parted) {
            p->event = x->event;
            p->phase = y->phase;
            p->first_bytes = x->bytes;
            p->second_bytes = y->bytes;
        } else {
            p->same_event = x->event;
        }
        i++;
        j++;
    }
}
