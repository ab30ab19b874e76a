/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Adding adapters to a built model: their weights, and freezing the others.
 */
#ifndef MS_MODEL_BLOCKS_ADAPTER_H
#define MS_MODEL_BLOCKS_ADAPTER_H

#include "base/error.h"
#include "model/blocks/blocks.h"

/* The adapter weights of a module; 0: none. */
struct ms_adapted {
    ms_linear_module lora_a, lora_b;
    ms_tensor magnitude; /* of DoRA */
    ms_tensor scale;     /* vector of IA3 */
    bool scales_input;
};

/* PEFT's get_peft_model for a model that is on its device: creates adapters in the order of
 * modules, freezes everything else, casts the adapters to their dtype. Refuses an adapter that
 * matches no module. Afterwards the tape's parameters are the trained ones. */
ms_status ms_adapter_attach(ms_model *model, ms_error *err);

#endif
