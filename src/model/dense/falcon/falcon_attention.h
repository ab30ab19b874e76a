/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Falcon's attention: splits the fused projection in one of three ways, then calls a fused kernel
 * or one of two eager forms.
 */
#ifndef MS_MODEL_DENSE_FALCON_ATTENTION_H
#define MS_MODEL_DENSE_FALCON_ATTENTION_H

#include "model/dense/falcon/falcon.h"

/* x @ weight.T, with the bias added by a separate operator. */
ms_tensor ms_falcon_linear(ms_model *model, const ms_linear_module *module, ms_tensor x);
/* [B, S, H] to [B, S, H]; *weights: the probabilities, if eager. */
ms_tensor ms_falcon_attention(ms_model *model, const ms_falcon *d, const ms_falcon_layer *l,
                              ms_tensor x, ms_tensor *weights);

#endif
