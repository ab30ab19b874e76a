/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the families of DeepSeek's third version share.
 */
#ifndef MS_MODEL_MIXTURE_DEEPSEEK_V3_H
#define MS_MODEL_MIXTURE_DEEPSEEK_V3_H

#include "model/blocks/model.h"

/* Rotates neighbouring elements, each pair by the first half of the tables. */
void ms_rotary_neighbours(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                          ms_tensor out[2]);

#endif
