/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model that from_pretrained(device_map="auto") loads onto the device (transformers 5.24,
 * modeling_utils.py and core_model_loading.py): one block of the size of all weights, less what is
 * cached, is made and freed, so that the cache has a segment for them, and the weights come in the
 * order of their names. Their threads may swap neighbours.
 */
#ifndef MS_RUN_STEP_LOADED_H
#define MS_RUN_STEP_LOADED_H

#include "torch/autograd/tape.h"

/* The block for the weights. */
void ms_loaded_warm_up(ms_tape *tape);
/* The parameters in the order in which they are loaded, to be freed; NULL: out of memory. */
ms_tensor *ms_loaded_order(const ms_tape *tape);

#endif
