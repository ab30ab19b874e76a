/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/refusals.h"

#include "input/config/model/model_config.h"
#include "input/config/run/layout.h"
#include "input/config/run/run_config.h"

/* ---- compared ---- */

/* ZeRO-3 gathers by module: what is in a block of experts, or of an adapter, was not compared, and
 * packed bases were not beside any shards. */
bool ms_knows_passes(const ms_model_config *model, const ms_run_config *run, bool has_adapter)
{
    const ms_parallel *parallel = &run->parallel;
    const ms_layout *layout = &parallel->layout;
    const bool is_packed = ms_is_packed(&run->quantization);
    switch (layout->kind) {
    case MS_PARALLEL_NONE:
        return true;
    case MS_PARALLEL_DDP:
        return !parallel->has_zero_optimizer;
    case MS_PARALLEL_ZERO:
        return !is_packed && (layout->stage < 3 || !(model->num_experts || has_adapter));
    case MS_PARALLEL_FSDP2:
        return !is_packed && !model->num_experts && layout->tensor <= 1 && layout->context <= 1 &&
               !ms_layout_has_stages(layout) && !parallel->reshard_ranks;
    case MS_PARALLEL_FSDP1:
    case MS_PARALLEL_TP:
    case MS_PARALLEL_PP:
    default:
        return false;
    }
}

/* ---- refusals ---- */

const char *ms_rank_refusal_of(const ms_resolving *c, const ms_rank_refusal *rows)
{
    while (rows->applies && !rows->applies(c))
        rows++;
    return rows->why;
}

bool ms_has_other_head(const ms_resolving *c)
{
    return c->model->head != MS_HEAD_CAUSAL_LM;
}

bool ms_any_layer_slides(const ms_resolving *c)
{
    for (uint64_t i = 0; i < c->model->num_layers; i++)
        if (ms_layer_slides(c->model, i))
            return true;
    return false;
}

bool ms_has_long_rotary(const ms_resolving *c)
{
    return c->model->long_rotary;
}

bool ms_has_other_loss(const ms_resolving *c)
{
    return c->run->training.label_smoothing > 0 || c->run->training.logits_to_keep;
}

bool ms_uses_liger(const ms_resolving *c)
{
    return c->run->liger != 0;
}

bool ms_uses_autocast(const ms_resolving *c)
{
    return c->run->autocast != MS_AUTOCAST_NONE;
}

bool ms_attends_eagerly(const ms_resolving *c)
{
    return c->run->attention == MS_ATTENTION_EAGER || c->run->attention == MS_ATTENTION_MATH;
}

bool ms_asks_reentrant(const ms_resolving *c)
{
    return c->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT;
}

bool ms_optimizes_elsewhere(const ms_resolving *c)
{
    return !ms_optimizer_traits_of(c->run->training.optimizer)->is_everywhere;
}

bool ms_has_idle_layers(const ms_resolving *c)
{
    const ms_run_images *images = &c->run->images;
    return c->model->vision.feature_layer != 0 && images->count && !images->frozen;
}

const char *ms_idle_part(const ms_resolving *c)
{
    const ms_model_config *model = c->model;
    if (ms_has_idle_layers(c))
        return "the tower's part behind the states that are projected";
    if (model->index_heads)
        return "the indexer, which chooses tokens by number,";
    return model->altup_streams && !model->scales_corrected
               ? "correct_output_scale, which altup_correct_scale leaves out,"
               : NULL;
}

bool ms_has_idle_part(const ms_resolving *c)
{
    return ms_idle_part(c) != NULL;
}
