/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/treatment/part_rows.h"

#include <stdio.h>

/* ---- part checkpoint mlp ---- */

/* checkpoint-mlp: of what the MLP saves only its input is kept. */

static bool part_checkpoint_mlp_refuses(const ms_treated_layer *layer,
                                        const ms_treatment *treatment, ms_refusal *refusal)
{
    (void)treatment;
    if (layer->has_no_mlp_module)
        snprintf(refusal->text, sizeof refusal->text,
                 " of %s has no separate MLP module that could be recomputed", layer->model_type);
    return layer->has_no_mlp_module;
}

const ms_part_row ms_part_checkpoint_mlp = {
    .word = "checkpoint-mlp",
    .is_leading = true,
    .excludes = 1U << MS_PART_TILE,
    .techniques = MS_MAY_CHECKPOINT,
    .module = MS_MODULE_MLP,
    .noun = "MLP",
    .code = {.call = "recompute_mlp(layers[i])", .pieces = {"checkpoint_mlp"}},
    .refuses = part_checkpoint_mlp_refuses,
};

/* ---- part checkpoint norms ---- */

/* checkpoint-norms: of what each of the layer's own norms saves only the input is kept; norms
 * inside attention are not treated. */

static bool part_checkpoint_norms_refuses(const ms_treated_layer *layer,
                                          const ms_treatment *treatment, ms_refusal *refusal)
{
    (void)treatment;
    refusal->of_any_layer = true;
    if (layer->is_reentrant)
        snprintf(refusal->text, sizeof refusal->text,
                 "reentrant checkpoints of norms are not supported");
    return layer->is_reentrant;
}

const ms_part_row ms_part_checkpoint_norms = {
    .word = "checkpoint-norms",
    .needs_keep = true,
    .techniques = MS_MAY_CHECKPOINT,
    .module = MS_MODULE_NORM,
    .noun = "norms",
    .is_plural = true,
    .code = {.call = "recompute_norms(layers[i])", .pieces = {"checkpoint_norms"}},
    .refuses = part_checkpoint_norms_refuses,
};

/* ---- part tile ---- */

/* tile:4: the MLP in tiles of the tokens, each recomputed in backward. */

static bool part_tile_refuses(const ms_treated_layer *layer, const ms_treatment *treatment,
                              ms_refusal *refusal)
{
    (void)treatment;
    if (layer->is_sparse)
        snprintf(refusal->text, sizeof refusal->text, ": a mixture of experts cannot run in tiles");
    else if (layer->has_no_mlp_module)
        snprintf(refusal->text, sizeof refusal->text,
                 " of %s has no separate MLP module that could run in tiles", layer->model_type);
    else if (layer->steps_in_backward)
        snprintf(refusal->text, sizeof refusal->text,
                 ": each tile of an MLP adds to its gradients, so the optimizer cannot step in "
                 "backward");
    else
        return false;
    return true;
}

const ms_part_row ms_part_tile = {
    .word = "tile",
    .has_pieces = true,
    .techniques = MS_MAY_TILE,
    .module = MS_MODULE_MLP,
    .noun = "MLP",
    .code = {.call = "tile(layers[i], %s)", .pieces = {"pieces", "again", "tiled_mlp"}},
    .refuses = part_tile_refuses,
};

/* ---- part tile attention ---- */

/* tile-attention:4: attention in tiles of the queries, each recomputed in backward. */

static bool part_tile_attention_refuses(const ms_treated_layer *layer,
                                        const ms_treatment *treatment, ms_refusal *refusal)
{
    (void)treatment;
    if (layer->has_sinks)
        snprintf(refusal->text, sizeof refusal->text, ": attention with sinks cannot run in tiles");
    else if (layer->may_be_padded)
        snprintf(refusal->text, sizeof refusal->text,
                 ": attention in tiles is not predicted for padded batches (--padding ones is "
                 "predicted)");
    else if (!layer->has_plain_attention)
        snprintf(refusal->text, sizeof refusal->text, ": attention of %s is not supported in tiles",
                 layer->model_type);
    else
        return false;
    return true;
}

const ms_part_row ms_part_tile_attention = {
    .word = "tile-attention",
    .has_pieces = true,
    .techniques = MS_MAY_TILE,
    .module = MS_MODULE_ATTENTION,
    .noun = "attention",
    .code = {.call = "tile_attention(layers[i], %s)", .pieces = {"again", "tiled_attention"}},
    .refuses = part_tile_attention_refuses,
};

/* ---- part rows ---- */

#undef MS_PART_ROW
