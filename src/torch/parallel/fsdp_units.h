/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Units of FSDP2: which parameters are taken together, and the rows of each that a rank has.
 */
#ifndef MS_TORCH_PARALLEL_FSDP_UNITS_H
#define MS_TORCH_PARALLEL_FSDP_UNITS_H

#include "torch/parallel/fsdp.h"

/* Rows of a shard, and those that this rank has. */
typedef struct ms_fsdp_rows {
    uint64_t padded, local, elements; /* elements: of a row */
} ms_fsdp_rows;

/* By torch.chunk of the first dimension of a whole parameter. */
ms_fsdp_rows ms_fsdp_rows_of(const ms_fsdp *all, const ms_shape *shape);

/* All parameters in the order of modules, frozen ones too. */
uint32_t ms_fsdp_count(const ms_tape *tape);
ms_placed ms_fsdp_placed(const ms_tape *tape, uint32_t i);

/* The units of all layers, of the ends and of the root; MS_ERR_NOMEM is the tape's. */
void ms_fsdp_add_units(ms_tape *tape, ms_fsdp *all);

#endif
