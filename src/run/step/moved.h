/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model that is built on the host and then moved to the device, as by model.to("cuda"):
 * parameters and buffers get their memory module by module, and nothing else that the constructors
 * make has any.
 */
#ifndef MS_RUN_STEP_MOVED_H
#define MS_RUN_STEP_MOVED_H

#include "model/blocks/model.h"

/* What the constructors made, in their order. */
typedef struct ms_moved {
    bool is_waiting; /* for the move */
    ms_vec(ms_tensor) made;
} ms_moved;

/* From here on tensors have no memory, where the run builds its model on the host. */
ms_moved ms_moved_begin(const ms_model *model);
/* The constructors have run; adapters come later. */
void ms_moved_list(ms_moved *moved, const ms_model *model);
/* Moves what there is, adapters in the places of their modules, if that has not been done. */
void ms_moved_end(ms_moved *moved, const ms_model *model);

#endif
