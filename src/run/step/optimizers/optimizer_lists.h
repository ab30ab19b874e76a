/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Helpers for optimizer updates: states, and lists of tensors.
 */
#ifndef MS_RUN_STEP_OPTIMIZERS_OPTIMIZER_LISTS_H
#define MS_RUN_STEP_OPTIMIZERS_OPTIMIZER_LISTS_H

#include "run/step/optimizers/optimizer_row.h"

/* Creates a state of that name, to be owned by its parameter. */
ms_tensor ms_optimizer_state(ms_tape *tape, ms_shape shape, ms_dtype dtype, const char *name);

/* A list of tensors; dropped from its end, as in Python. */
typedef ms_vec(ms_tensor) ms_tensor_list;
void ms_list_push(ms_tape *tape, ms_tensor_list *list, ms_tensor tensor);
void ms_list_drop(ms_tape *tape, ms_tensor_list *list);
/* One new tensor per state (0 or 1) or gradient of the parameters. */
enum { MS_LIST_OF_GRADIENTS = -1 };
ms_tensor_list ms_list_like(ms_tape *tape, const ms_stepped *stepped, int state);

#endif
