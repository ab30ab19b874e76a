/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The engine llama.cpp: the row's functions.
 */
#ifndef MS_SERVE_INFER_LLAMACPP_LLAMA_H
#define MS_SERVE_INFER_LLAMACPP_LLAMA_H

#include "serve/infer/kit/engine.h"

ms_infer_takes ms_llama_takes(const ms_model_config *config); /* see ms_infer_engine */
ms_status ms_llama_infer(const ms_infer_job *job, ms_infer_result *result, ms_error *err);

#endif
