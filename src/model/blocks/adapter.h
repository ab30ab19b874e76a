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

#endif
