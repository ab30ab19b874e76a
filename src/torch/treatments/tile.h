/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_TORCH_TREATMENTS_TILE_H
#define MS_TORCH_TREATMENTS_TILE_H

#include "input/config/treatment/row.h"
#include "torch/autograd/engine.h"

/* ---- parts ---- */

/* Runs the modules of a layer that are treated separately: under a checkpoint, or in tiles. */

/* Runs the region, a call of that module of a layer, under the layer's treatment. Not for attention
 * (see tile_attention.h). The region consumes its input. */
ms_tensor ms_part_call(ms_tape *tape, const ms_treatment *treatment, ms_part_module module,
                       const ms_region *region, ms_tensor input);

#endif
