/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * checkpoint-mlp: of what the MLP saves only its input is kept.
 */
#include <stdio.h>

#include "input/config/treatment/part_rows.h"

static bool refuses(const ms_treated_layer *layer, const ms_treatment *treatment,
                    ms_refusal *refusal)
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
    .refuses = refuses,
};
