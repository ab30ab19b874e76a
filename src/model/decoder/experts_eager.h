/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Eager experts, one after the other, as in the modelling files: each gathers its tokens and adds
 * its output to the result.
 */
#ifndef MS_MODEL_DECODER_EXPERTS_EAGER_H
#define MS_MODEL_DECODER_EXPERTS_EAGER_H

#include "model/decoder/experts.h"

/* As ms_experts_call, one expert after the other. */
ms_tensor ms_experts_eager(ms_model *model, const ms_experts_module *module, ms_tensor hidden,
                           const ms_routing *routing);

#endif
