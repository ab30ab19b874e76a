/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameters of a model.
 */
#ifndef MS_MODEL_BLOCKS_PARAMETER_H
#define MS_MODEL_BLOCKS_PARAMETER_H

#include "model/blocks/model.h"

/* A trainable parameter in the run's weight dtype. */
ms_tensor ms_parameter_new(ms_model *model, uint32_t scope, const char *name, ms_shape shape);
/* The same in another dtype. */
ms_tensor ms_parameter_of(ms_model *model, uint32_t scope, const char *name, ms_shape shape,
                          ms_dtype dtype);
/* The same for one that is not trained, whatever the run trains (requires_grad=False). */
ms_tensor ms_frozen_parameter_of(ms_model *model, uint32_t scope, const char *name, ms_shape shape,
                                 ms_dtype dtype);
/* Registers a tensor as a parameter. */
ms_tensor ms_parameter_enter(ms_model *model, uint32_t scope, const char *name, ms_tensor tensor);
/* Moves the last parameter to this index: a module's own parameters precede those of its children.
 * Only before the first step. */
void ms_parameter_move_last(ms_model *model, uint32_t place);
/* requires_grad_(False) for the parameters from this index to before `end`: they stay in the list,
 * marked, until ms_parameters_settle. Only before the first step. */
void ms_parameters_freeze(ms_model *model, uint32_t first, uint32_t end);
/* The frozen ones leave the list for tape->frozen, and tape->in_order gets all; an adapter, which
 * freezes by itself, has done so. Once, after build. */
void ms_parameters_settle(ms_model *model);
/* module.to(dtype) for one tensor (0: none): the handle stays and gets a new storage. */
void ms_module_cast(ms_model *model, ms_tensor tensor, ms_dtype dtype);
/* Tying a head's weight pads its bias (0: none) to as many rows, into a new storage, though there
 * are as many already. Not on the host. */
void ms_bias_pad(ms_model *model, ms_tensor bias);

/* Whether the model is built on the host and then moved; temporaries are then not on the device. */
bool ms_is_made_on_host(const ms_model *model);

#endif
