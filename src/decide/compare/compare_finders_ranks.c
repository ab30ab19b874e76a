/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Causes in how ranks share a step: how many they are, which one it is, what they share.
 */
#include "decide/compare/compare_finders.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static uint64_t world_of(const ms_recorded *r)
{
    return r->world_size > 0 ? r->world_size : 1;
}

/* Sharing reaches into all categories, and either way. */
static void fill(ms_compare_evidence *e, ms_compare_cause *cause, const char *name)
{
    cause->name = name;
    cause->touches = MS_IN_ANY;
    cause->bytes = fabs((double)e->view->residual);
}

static const char *world_text(ms_compare_evidence *e, uint64_t world)
{
    return world == 1 ? "one rank" : ms_compare_text(e, "%" PRIu64 " ranks", world);
}

static bool is_replica(const ms_recorded_step *s)
{
    return s->data_parallel && strcmp(s->data_parallel, "DistributedDataParallel") == 0;
}

/* More ranks have smaller shards; replicas are as large whatever their number. What a rank computes
 * is another part only where a prediction says that layers, tokens or widths are divided, or none
 * says how. */
bool ms_compare_find_world_size(ms_compare_evidence *e, ms_compare_cause *cause)
{
    uint64_t a = world_of(e->view->first), b = world_of(e->view->second);
    bool has_layout = e->first->layout || e->second->layout;
    bool splits = e->first->splits_work || e->second->splits_work;
    if (a == b || (is_replica(e->first) && is_replica(e->second) && !splits) ||
        !ms_compare_differs(e, MS_IN_WEIGHT | MS_IN_GRADIENT | MS_IN_STATE | MS_IN_TEMPORARY))
        return false;
    fill(e, cause, "world_size");
    if (has_layout && !splits)
        cause->touches = MS_IN_ANY & ~(uint32_t)MS_IN_SAVED;
    cause->signed_by = MS_IN_WEIGHT | MS_IN_STATE;
    cause->sign = b > a ? -1 : 1;
    cause->bytes = ms_compare_size_of(e, cause->touches);
    cause->first = world_text(e, a);
    cause->second = world_text(e, b);
    cause->brief = a == 1 ? "one" : ms_compare_text(e, "%" PRIu64, a);
    return true;
}

bool ms_compare_find_rank(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded *a = e->view->first, *b = e->view->second;
    bool has_stages = e->first->has_stages || e->second->has_stages;
    if (!a->has_rank || !b->has_rank || a->rank == b->rank || world_of(a) != world_of(b) ||
        !ms_compare_differs(e, MS_IN_WEIGHT | MS_IN_STATE))
        return false;
    fill(e, cause, "rank");
    cause->bytes = ms_compare_size_of(e, MS_IN_WEIGHT | MS_IN_GRADIENT | MS_IN_STATE);
    if (!has_stages) /* shards that are not of one size */
        cause->most = cause->bytes;
    cause->first = ms_compare_text(e, "rank %" PRIu64, a->rank);
    cause->second = ms_compare_text(e, "rank %" PRIu64, b->rank);
    return true;
}

static const char *strategy_text(const char *name)
{
    return strcmp(name, "none") == 0 ? "no data parallelism" : name;
}

/* Two predictions state their whole layouts; a capture the data parallelism that it saw. */
bool ms_compare_find_strategy(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    bool has_layouts = a->layout && b->layout;
    const char *before = has_layouts ? a->layout : a->data_parallel;
    const char *after = has_layouts ? b->layout : b->data_parallel;
    uint64_t world_a = world_of(e->view->first), world_b = world_of(e->view->second);
    bool is_same = !before || !after || strcmp(before, after) == 0;
    if (is_same || world_a == 1 || world_b == 1 ||
        (world_a != world_b && strcmp(a->data_parallel, b->data_parallel) == 0))
        return false; /* the layouts may differ by the number of ranks alone */
    fill(e, cause, "strategy");
    cause->first = ms_compare_text(e, "%.120s", strategy_text(before));
    cause->second = ms_compare_text(e, "%.120s", strategy_text(after));
    return true;
}

bool ms_compare_find_resharding(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    if (!a->knows_resharding || !b->knows_resharding || a->reshards == b->reshards ||
        !a->data_parallel || !b->data_parallel || strcmp(a->data_parallel, b->data_parallel) != 0)
        return false;
    static const char stay[] = "parameters that stay gathered after forward";
    static const char go[] = "parameters that are resharded after forward";
    fill(e, cause, "resharding");
    cause->first = a->reshards ? go : stay;
    cause->second = b->reshards ? go : stay;
    cause->brief = a->reshards ? "resharded ones" : "ones that stay";
    cause->bytes = ms_compare_size_of(e, MS_IN_WEIGHT | MS_IN_COMPUTED);
    return true;
}
