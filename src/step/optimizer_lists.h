/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What updates of optimizers make: states, and lists of tensors.
 */
#ifndef MS_STEP_OPTIMIZER_LISTS_H
#define MS_STEP_OPTIMIZER_LISTS_H

#include "step/optimizer_row.h"

/* A state of that name, owned by the parameter it is of. */
ms_tensor ms_optimizer_state(ms_tape *tape, ms_shape shape, ms_dtype dtype, const char *name);

/* A list of tensors; Python drops a list from its end. */
typedef ms_vec(ms_tensor) ms_tensor_list;
void ms_list_push(ms_tape *tape, ms_tensor_list *list, ms_tensor tensor);
void ms_list_drop(ms_tape *tape, ms_tensor_list *list);
/* One new tensor for each state (0 or 1) or gradient of the parameters. */
enum { MS_LIST_OF_GRADIENTS = -1 };
ms_tensor_list ms_list_like(ms_tape *tape, const ms_stepped *stepped, int state);

#endif
