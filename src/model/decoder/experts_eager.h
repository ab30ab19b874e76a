/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Experts one after the other, as the modelling files' own forward: each takes its tokens, and adds
 * what it makes of them to the result.
 */
#ifndef MS_MODEL_DECODER_EXPERTS_EAGER_H
#define MS_MODEL_DECODER_EXPERTS_EAGER_H

#include "model/decoder/experts.h"

/* The same, one expert after the other (experts_eager.c). */
ms_tensor ms_experts_eager(ms_model *model, const ms_experts_module *module, ms_tensor hidden,
                           const ms_routing *routing);

#endif
