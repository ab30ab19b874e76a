/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inference of an encoder with a decoder: the encoder reads its source once, and the decoder's
 * passes keep their own keys and values beside those of the source (EncoderDecoderCache).
 */
#ifndef MS_SERVE_INFER_HF_TRANSLATION_H
#define MS_SERVE_INFER_HF_TRANSLATION_H

#include "serve/infer/kit/engine.h"
#include "run/step/inference/generation.h"

/* Whether the model is an encoder with a decoder whose cache is predicted. */
bool ms_hf_translates(const ms_model_config *config);

/* Tokens, or positions of sounds, that the encoder reads. */
uint64_t ms_hf_source(const ms_infer_job *job);

/* Refuses what is not predicted of such a model. Text is the prompt itself, and the decoder begins
 * with one token; behind sounds the prompt is the decoder's, and has four tokens if it is not
 * given. MS_ERR_USAGE, MS_ERR_CONFIG. */
ms_status ms_hf_translation_tokens(const ms_infer_job *job, ms_generation *g, ms_error *err);

#endif
