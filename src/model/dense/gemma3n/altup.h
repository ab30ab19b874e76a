/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 3n's AltUp: from all streams to predictions of them, and from one that a layer ran to
 * corrections of all.
 */
#ifndef MS_MODEL_DENSE_GEMMA3N_ALTUP_H
#define MS_MODEL_DENSE_GEMMA3N_ALTUP_H

#include "model/dense/gemma3n/gemma3n.h"

void ms_altup_new(ms_model *model, ms_gemma3n_altup *altup, uint32_t parent);
/* [N, B, S, H]: streams + streams x coefficients, which the first one makes. */
ms_tensor ms_altup_predict(ms_model *model, const ms_gemma3n_altup *altup, ms_tensor streams);
/* [N, B, S, H]: predictions + coefficients * (activated - the first prediction). */
ms_tensor ms_altup_correct(ms_model *model, const ms_gemma3n_altup *altup, ms_tensor predictions,
                           ms_tensor activated);

#endif
