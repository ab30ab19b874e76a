/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_TORCH_TREATMENTS_TILE_H
#define MS_TORCH_TREATMENTS_TILE_H

#include "torch/autograd/engine.h"

/* Runs the region on `pieces` tiles of the rows of `input`, [rows, H], without a graph. Backward
 * recomputes each tile and runs its backward. The region consumes its input. */
ms_tensor ms_tiled_run(ms_tape *tape, const ms_region *region, ms_tensor input, uint32_t pieces);

#endif
