/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running adapted linear layers.
 */
#ifndef MS_MODEL_BLOCKS_ADAPTED_H
#define MS_MODEL_BLOCKS_ADAPTED_H

#include "model/blocks/adapter.h"

/* Creates DoRA's magnitude: the norm of each row of W + B A. Both matrices must exist. */
ms_tensor ms_dora_magnitude(ms_model *model, uint32_t scope, ms_tensor weight,
                            const struct ms_adapted *adapted);
/* Forward of an adapted module; `linear` is the operator of its base layer. Consumes x as that
 * does. */
ms_tensor ms_adapted_call(ms_model *model, const ms_leaf_module *leaf,
                          const ms_linear_module *module, ms_tensor x, ms_linear_fn linear);

#endif
