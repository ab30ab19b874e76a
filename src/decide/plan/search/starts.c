/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/search/starts.h"

#include <stdlib.h>

/* The option of which a layer from the middle saves least. */
static uint32_t least_option(const ms_moves *l)
{
    const uint32_t middle = l->s->costs.layer_count / 2;
    uint32_t least = l->options[0];
    for (uint32_t o = 0; o < l->option_count; o++) {
        const ms_cost_option *options = l->s->costs.options;
        if (ms_layer_saved(&options[l->options[o]].layers[middle], 0) <
            ms_layer_saved(&options[least].layers[middle], 0))
            least = l->options[o];
    }
    return least;
}

ms_status ms_moves_kick(ms_moves *l)
{
    ms_search *s = l->s;
    const uint32_t count = s->costs.layer_count, size = count / 4 + 1, option = least_option(l);
    ms_assignment to;
    ms_status status = ms_assignment_copy(s->arena, &s->costs, &s->best, &to, s->err);
    if (status != MS_OK)
        return status;
    uint32_t first = ms_moves_random(l, count);
    for (uint32_t i = first; i < count && i < first + size; i++)
        to.options[i] = option;
    ms_moves_go_to(l, &to);
    return MS_OK;
}

static int by_start_score(const void *a, const void *b)
{
    const ms_start *x = a, *y = b;
    return (x->score > y->score) - (x->score < y->score);
}

static void set_uniform(const ms_moves *l, const ms_start *from, ms_assignment *to)
{
    to->loss = from->loss;
    ms_assignment_fill(&l->s->costs, from->option, to);
}

ms_status ms_moves_list_starts(ms_moves *l, ms_start **starts, uint32_t *count)
{
    const ms_search *s = l->s;
    const uint32_t losses = ms_search_loss_count(s);
    *count = 0;
    *starts = ms_arena_array(s->arena, ms_start, (size_t)l->option_count * losses);
    if (!*starts)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the search");
    for (uint32_t o = 0; o < l->option_count; o++)
        for (uint32_t loss = 0; loss < losses; loss++) {
            ms_start at = {l->options[o], loss, 0};
            if (!ms_moves_allow_loss(l, loss))
                continue;
            set_uniform(l, &at, &l->changed);
            ms_cost_sum sum = ms_assignment_sum(&s->costs, &l->changed);
            if (sum.peak_bytes > s->capacity_bytes || sum.step_ms > 1.2 * s->best_ms)
                continue;
            at.score =
                sum.step_ms / s->best_ms + 8 * (double)sum.peak_bytes / (double)s->capacity_bytes;
            (*starts)[(*count)++] = at;
        }
    qsort(*starts, *count, sizeof **starts, by_start_score);
    return MS_OK;
}

ms_status ms_moves_start(const ms_moves *l, const ms_start *from, ms_assignment *made)
{
    ms_search *s = l->s;
    ms_status status = ms_assignment_copy(s->arena, &s->costs, &l->now, made, s->err);
    if (status == MS_OK)
        set_uniform(l, from, made);
    return status;
}
