/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Adapters on a built model: the weights they add, what they freeze, and how an adapted linear
 * layer runs.
 */
#ifndef MS_MODEL_ADAPTER_H
#define MS_MODEL_ADAPTER_H

#include "base/error.h"
#include "model/blocks.h"

/* Does what get_peft_model does to a model that is on its device: adapters are made in the order of
 * modules, everything else is frozen, the adapters are cast to their type. Refuses an adapter that
 * fits no module. Afterwards the tape's parameters are those that are trained. */
ms_status ms_adapter_attach(ms_model *model, ms_error *err);

/* Whether the module is adapted. */
bool ms_is_adapted(const ms_model *model, uint32_t scope);
/* An adapted module's forward; `linear` is the one of its base layer. Consumes x as that does. */
ms_tensor ms_adapted_call(ms_model *model, const ms_linear_module *module, ms_tensor x,
                          ms_linear_fn linear);

#endif
