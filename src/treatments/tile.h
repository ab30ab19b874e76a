/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_TREATMENTS_TILE_H
#define MS_TREATMENTS_TILE_H

#include "autograd/rerun.h"

/* Runs the region over `pieces` pieces of the rows of `input` without a graph, and over each again,
 * forward and backward, when backward comes to it. The region consumes its input, [rows, H]. */
ms_tensor ms_tiled_run(ms_tape *tape, const ms_region *region, ms_tensor input, uint32_t pieces);

#endif
