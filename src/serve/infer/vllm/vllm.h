/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The engine vLLM: the row's function.
 */
#ifndef MS_SERVE_INFER_VLLM_VLLM_H
#define MS_SERVE_INFER_VLLM_VLLM_H

#include "serve/infer/kit/engine.h"

/* See ms_infer_engine. */
ms_infer_takes ms_vllm_takes(const ms_model_config *config);
ms_status ms_vllm_infer(const ms_infer_job *job, ms_infer_result *result, ms_error *err);

#endif
