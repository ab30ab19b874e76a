/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Falcon's attention: the fused projection is split three ways; then what the fused kernels take,
 * or one of two eager forms.
 */
#ifndef MS_MODEL_DENSE_FALCON_ATTENTION_H
#define MS_MODEL_DENSE_FALCON_ATTENTION_H

#include "model/dense/falcon.h"

/* x @ weight.T, with the bias added by an operator of its own. */
ms_tensor ms_falcon_linear(ms_model *model, const ms_linear_module *module, ms_tensor x);
/* [B, S, H] to [B, S, H]; *weights: the probabilities, if eager. */
ms_tensor ms_falcon_attention(ms_model *model, const ms_falcon *d, const ms_falcon_layer *l,
                              ms_tensor x, ms_tensor *weights);

#endif
