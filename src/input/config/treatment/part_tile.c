/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * tile:4: the MLP in tiles of the tokens, each recomputed in backward.
 */
#include <stdio.h>

#include "input/config/treatment/part_rows.h"

static bool refuses(const ms_treated_layer *layer, const ms_treatment *treatment,
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
    .refuses = refuses,
};
