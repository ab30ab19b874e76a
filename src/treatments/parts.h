/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How modules of layers run of which a part is treated: under a checkpoint, or in pieces.
 */
#ifndef MS_TREATMENTS_PARTS_H
#define MS_TREATMENTS_PARTS_H

#include "autograd/rerun.h"
#include "config/treatment/row.h"

/* Runs the region, a call of that module of a layer, as the layer's treatment wants it; not for
 * attention, which is no region (tile_attention.h). The region consumes its input. */
ms_tensor ms_part_call(ms_tape *tape, const ms_treatment *treatment, ms_part_module module,
                       const ms_region *region, ms_tensor input);

#endif
