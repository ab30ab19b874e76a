/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Adapters on a built model: the weights they add, what they freeze, and how an adapted linear
 * layer runs.
 */
#ifndef MS_MODEL_BLOCKS_ADAPTER_H
#define MS_MODEL_BLOCKS_ADAPTER_H

#include "base/error.h"
#include "model/blocks/blocks.h"

/* An adapted module's own weights: 0 where there is none. */
struct ms_adapted {
    ms_linear_module lora_a, lora_b;
    ms_tensor magnitude; /* dora's */
    ms_tensor scale;     /* ia3's vector */
    bool scales_input;
};

/* Does what get_peft_model does to a model that is on its device: adapters are made in the order of
 * modules, everything else is frozen, the adapters are cast to their type. Refuses an adapter that
 * fits no module. Afterwards the tape's parameters are those that are trained. */
ms_status ms_adapter_attach(ms_model *model, ms_error *err);

/* ---- running (adapted.c) ---- */

/* Makes dora's magnitude: the norm of each row of W + B A. Both matrices are there. */
ms_tensor ms_dora_magnitude(ms_model *model, uint32_t scope, ms_tensor weight,
                            const struct ms_adapted *adapted);
/* An adapted module's forward; `linear` is the one of its base layer. Consumes x as that does. */
ms_tensor ms_adapted_call(ms_model *model, const ms_leaf_module *leaf,
                          const ms_linear_module *module, ms_tensor x, ms_linear_fn linear);

#endif
