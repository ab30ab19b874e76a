/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/costs/reduced.h"

#include "input/config/adapter/adapter_match.h"

enum { FEW = 5, FEW_AT_EACH_END = 2 };

/* Which of the few layers of its kind stands for the one that has `before` of its kind before it.
 */
static uint64_t representative(uint64_t before, uint64_t count)
{
    if (count <= FEW || before < FEW_AT_EACH_END)
        return before;
    return count - before <= FEW_AT_EACH_END ? FEW - (count - before) : FEW_AT_EACH_END;
}

static ms_status keep_all(ms_arena *arena, const ms_model_config *model, ms_reduced_model *reduced,
                          ms_error *err)
{
    uint32_t *stands_in = ms_arena_array(arena, uint32_t, model->num_layers);
    if (!stands_in)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the reduced model");
    for (uint32_t i = 0; i < model->num_layers; i++)
        stands_in[i] = i;
    *reduced = (ms_reduced_model){.model = *model, .stands_in = stands_in};
    return MS_OK;
}

/* Buckets of gradients fill up across layers, so that each layer may meet another end of one. */
static bool has_buckets(const ms_run_config *run)
{
    ms_parallel_kind kind = run->parallel.layout.kind;
    return kind == MS_PARALLEL_DDP || kind == MS_PARALLEL_ZERO;
}

ms_status ms_model_reduce(ms_arena *arena, const ms_model_config *model, const ms_run_config *run,
                          ms_reduced_model *reduced, ms_error *err)
{
    if (!ms_adapter_is_uniform(run->adapter) || has_buckets(run))
        return keep_all(arena, model, reduced, err);
    uint64_t counts[MS_LAYER_KINDS] = {0}, before[MS_LAYER_KINDS] = {0};
    uint32_t places[MS_LAYER_KINDS][FEW];
    uint32_t *stands_in = ms_arena_array(arena, uint32_t, model->num_layers), used = 0;
    uint8_t *kinds = ms_arena_array(arena, uint8_t, (size_t)FEW * MS_LAYER_KINDS);
    if (!kinds || !stands_in)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the reduced model");
    for (uint64_t i = 0; i < model->num_layers; i++)
        counts[ms_layer_kind(model, i)]++;
    uint64_t seen[MS_LAYER_KINDS] = {0}; /* representatives of a kind that have a place */
    for (uint64_t i = 0; i < model->num_layers; i++) {
        uint8_t kind = ms_layer_kind(model, i);
        uint64_t at = representative(before[kind]++, counts[kind]);
        if (at == seen[kind]) {
            kinds[used] = kind;
            places[kind][seen[kind]++] = used++;
        }
        stands_in[i] = places[kind][at];
    }
    *reduced = (ms_reduced_model){.model = *model, .stands_in = stands_in};
    reduced->model.layer_kinds = kinds;
    reduced->model.num_layers = used;
    return MS_OK;
}
