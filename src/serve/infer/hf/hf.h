/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * transformers' generation: the model's own forward, without gradients, under PyTorch's allocator.
 */
#ifndef MS_SERVE_INFER_HF_HF_H
#define MS_SERVE_INFER_HF_HF_H

#include "serve/infer/kit/engine.h"

/* See ms_infer_engine. */
ms_infer_takes ms_hf_takes(const ms_model_config *config);
ms_status ms_hf_infer(const ms_infer_job *job, ms_infer_result *result, ms_error *err);

#endif
