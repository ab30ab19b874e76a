/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running linear layers: plain, quantised, adapted.
 */
#ifndef MS_MODEL_BLOCKS_LINEAR_H
#define MS_MODEL_BLOCKS_LINEAR_H

#include "model/blocks/model.h"

ms_tensor ms_linear_call(ms_model *model, const ms_linear_module *module, ms_tensor x);
/* The same with the family's own function for the product. */
ms_tensor ms_linear_call_by(ms_model *model, const ms_linear_module *module, ms_tensor x,
                            ms_linear_fn linear);
/* The layer without its adapter; `leaf` may be NULL. */
ms_tensor ms_base_call(ms_model *model, const ms_leaf_module *leaf, const ms_linear_module *module,
                       ms_tensor x, ms_linear_fn linear);
ms_tensor ms_conv1d_call(ms_model *model, const ms_linear_module *module, ms_tensor x);

#endif
