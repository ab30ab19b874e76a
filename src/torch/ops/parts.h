/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parts of a tensor that are added to in place, through a view of it. Conventions are those of
 * ops.h.
 */
#ifndef MS_TORCH_OPS_PARTS_H
#define MS_TORCH_OPS_PARTS_H

#include "torch/ops/ops.h"

/* A view of a contiguous tensor: dense, and no view of views. Strides in elements. */
typedef struct ms_strided {
    ms_shape shape;
    uint64_t strides[MS_MAX_RANK];
} ms_strided;

/* view += added, where `added` broadcasts to the part: what `base` has become, in its storage. */
ms_tensor ms_add_to_part(ms_tape *tape, ms_tensor base, const ms_strided *part, ms_tensor added);
/* The view, after that. */
ms_tensor ms_part_of(ms_tape *tape, ms_tensor base, const ms_strided *part);
/* view += added, where the view may be a tensor with permuted dimensions: the view, after that. */
ms_tensor ms_add_to_view(ms_tape *tape, ms_tensor view, ms_tensor added);

#endif
