/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/compare/compare_causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decide/compare/compare_finders.h"

/* ---- what is claimed ---- */

static bool (*const finders[])(ms_compare_evidence *e, ms_compare_cause *cause) = {
#define FINDER(name) ms_compare_find_##name,
    MS_COMPARE_FINDERS(FINDER)
#undef FINDER
};
_Static_assert(sizeof finders / sizeof finders[0] <= MS_COMPARE_MOST_CAUSES, "no place for all");

/* Whether the sign of a difference that no other cause touches contradicts the cause. */
static bool is_contradicted(const ms_compare_evidence *e, const ms_compare_cause *cause)
{
    if (cause->signed_by == 0 || cause->sign == 0)
        return false;
    for (uint32_t i = 0; i < e->view->cause_count; i++) {
        const ms_compare_cause *other = &e->view->causes[i];
        if (other != cause && (other->touches & cause->signed_by) != 0)
            return false;
    }
    double sum = ms_compare_sum(e, cause->signed_by);
    return cause->sign > 0 ? sum <= 0 : sum >= 0;
}

static void drop_contradicted(const ms_compare_evidence *e)
{
    ms_compare_view *v = e->view;
    bool is_out[MS_COMPARE_MOST_CAUSES] = {false};
    for (uint32_t i = 0; i < v->cause_count; i++)
        is_out[i] = is_contradicted(e, &v->causes[i]);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < v->cause_count; i++)
        if (!is_out[i])
            v->causes[kept++] = v->causes[i];
    v->cause_count = kept;
}

/* Stable: those that come first in the table of finders stay first. */
static void sort_by_size(ms_compare_view *v)
{
    for (uint32_t i = 1; i < v->cause_count; i++) {
        ms_compare_cause cause = v->causes[i];
        uint32_t to = i;
        for (; to > 0 && v->causes[to - 1].bytes < cause.bytes; to--)
            v->causes[to] = v->causes[to - 1];
        v->causes[to] = cause;
    }
}

/* ---- whether that is enough ---- */

/* Categories of one phase stand beside those of another where the peaks are in different ones, and
 * say nothing about sizes. */
static bool is_explained(const ms_compare_evidence *e)
{
    enum { SLACK_BYTES = 2 << 20, SLACK_SHARE = 50 }; /* sizes are rounded, blocks cut by them */
    const ms_compare_view *v = e->view;
    uint32_t unbounded = 0;
    double most = SLACK_BYTES + (double)v->first->peak_bytes / SLACK_SHARE;
    double all = 0, rest = 0;
    if (v->cause_count == 0 || !e->is_same_phase)
        return v->cause_count > 0;
    for (uint32_t i = 0; i < v->cause_count; i++) {
        const ms_compare_cause *cause = &v->causes[i];
        bool is_bounded = isfinite(cause->most);
        unbounded |= is_bounded ? 0 : cause->touches;
        most += is_bounded ? 1.5 * cause->most : 0;
    }
    for (uint32_t c = 0; c < MS_COMPARE_CATEGORY_COUNT; c++) {
        double size = fabs(ms_compare_sum(e, 1U << c));
        all += size;
        if ((unbounded >> c & 1) == 0)
            rest += size;
    }
    return fmax(0, rest - most) <= 0.5 * all;
}

bool ms_compare_causes_find(ms_compare_view *v)
{
    ms_compare_evidence e;
    v->cause_count = 0;
    v->is_explained = false;
    if (v->residual == 0)
        return true;
    ms_compare_evidence_make(v, &e);
    for (size_t i = 0; i < sizeof finders / sizeof finders[0]; i++) {
        ms_compare_cause cause = {.most = (double)INFINITY};
        if (finders[i](&e, &cause))
            v->causes[v->cause_count++] = cause;
    }
    drop_contradicted(&e);
    sort_by_size(v);
    v->is_explained = is_explained(&e);
    return !e.has_failed;
}
