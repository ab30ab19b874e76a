/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tile-attention:4: attention in tiles of the queries, each recomputed in backward.
 */
#include <stdio.h>

#include "input/config/treatment/part_rows.h"

static bool refuses(const ms_treated_layer *layer, const ms_treatment *treatment,
                    ms_refusal *refusal)
{
    (void)treatment;
    if (layer->has_sinks)
        snprintf(refusal->text, sizeof refusal->text, ": attention with sinks cannot run in tiles");
    else if (layer->may_be_padded)
        snprintf(refusal->text, sizeof refusal->text,
                 ": attention in tiles is not predicted for padded batches (--padding ones is)");
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
    .refuses = refuses,
};
