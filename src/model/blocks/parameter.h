/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameters of a model.
 */
#ifndef MS_MODEL_BLOCKS_PARAMETER_H
#define MS_MODEL_BLOCKS_PARAMETER_H

#include "model/blocks/model.h"

/* A parameter on the device, in the run's weight dtype, to be trained. */
ms_tensor ms_parameter_new(ms_model *model, uint32_t scope, const char *name, ms_shape shape);
/* The same in another type. */
ms_tensor ms_parameter_of(ms_model *model, uint32_t scope, const char *name, ms_shape shape,
                          ms_dtype dtype);
/* Makes a tensor one. */
ms_tensor ms_parameter_enter(ms_model *model, uint32_t scope, const char *name, ms_tensor tensor);
/* The parameter made last takes this place among all: a module's own come before those of its
 * parts. Before the first step only. */
void ms_parameter_move_last(ms_model *model, uint32_t place);
/* module.to(dtype) for one tensor of it (0: none): the handle keeps its number and gets a new
 * storage. */
void ms_module_cast(ms_model *model, ms_tensor tensor, ms_dtype dtype);

#endif
