/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settings of inference as a run of the model and what it generates.
 */
#ifndef MS_SERVE_INFER_HF_RUN_H
#define MS_SERVE_INFER_HF_RUN_H

#include "input/config/run/run_config.h"
#include "run/step/inference/generation.h"
#include "serve/infer/kit/engine.h"

typedef struct ms_hf_run {
    ms_run_config run;
    ms_generation generation;
} ms_hf_run;

/* Whether the model is an encoder of tokens, of which one forward pass is predicted. */
bool ms_hf_reads_once(const ms_model_config *config);

/* In the arena of the job. MS_ERR_USAGE or MS_ERR_CONFIG: what is not predicted, by its name. */
ms_status ms_hf_run_resolve(const ms_infer_job *job, ms_hf_run *run, ms_error *err);

/* ---- translation ---- */

/* Inference of an encoder with a decoder: the encoder reads its source once, and the decoder's
 * passes keep their own keys and values beside those of the source (EncoderDecoderCache). */

/* Whether the model is an encoder with a decoder whose cache is predicted. */
bool ms_hf_translates(const ms_model_config *config);

/* Tokens, or positions of sounds, that the encoder reads. */
uint64_t ms_hf_source(const ms_infer_job *job);

#endif
