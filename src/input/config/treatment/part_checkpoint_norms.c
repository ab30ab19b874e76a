/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * checkpoint-norms: of what each of the layer's own norms saves only the input is kept; norms
 * inside attention are not treated.
 */
#include <stdio.h>

#include "input/config/treatment/part_rows.h"

static bool refuses(const ms_treated_layer *layer, const ms_treatment *treatment,
                    ms_refusal *refusal)
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
    .refuses = refuses,
};
