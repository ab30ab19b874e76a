/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the Gemma families share.
 */
#ifndef MS_MODEL_DENSE_GEMMA_H
#define MS_MODEL_DENSE_GEMMA_H

#include "model/decoder/decoder.h"

/* The first Gemma: a plain decoder with a scaled embedding and norms by 1 + weight. */
ms_decoder_style ms_gemma_style(const ms_model_config *config);

/* From the second on, attention and MLP are normalised before and after. */
ms_decoder_style ms_gemma2_style(const ms_model_config *config);

#endif
