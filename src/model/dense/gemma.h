/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the Gemma families.
 */
#ifndef MS_MODEL_DENSE_GEMMA_H
#define MS_MODEL_DENSE_GEMMA_H

#include "model/decoder/decoder.h"

/* Gemma 1: a decoder with a scaled embedding and norms with 1 + weight. */
ms_decoder_style ms_gemma_style(const ms_model_config *config);

/* From Gemma 2 on: norms before and after attention and MLP. */
ms_decoder_style ms_gemma2_style(const ms_model_config *config);

#endif
