/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4's experts beside the MLP of a layer.
 */
#ifndef MS_MODEL_DENSE_GEMMA4_EXPERTS_H
#define MS_MODEL_DENSE_GEMMA4_EXPERTS_H

#include "model/dense/gemma4/gemma4.h"

/* Router and experts of a layer, and their norms; NULL when out of memory. */
struct ms_gemma4_experts *ms_gemma4_experts_new(ms_model *model, uint32_t parent);
/* The sum of the MLP's result and the experts', each normalised: `hidden` is the former, a local of
 * `f`, and `residual` what the router and the experts read. `second` is the local that holds the
 * probabilities of attention, and then those of the router. */
void ms_gemma4_add_experts(ms_model *model, ms_locals *f, const struct ms_gemma4_experts *experts,
                           ms_tensor residual, ms_tensor *second, ms_tensor *hidden);

#endif
