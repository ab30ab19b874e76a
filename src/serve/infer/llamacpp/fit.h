/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * llama.cpp's own --fit (common_fit_params of common/fit.cpp, ggml 0.25.3), on by default in its
 * programs: from the free memory of each device it sets the context, then the layers on the devices
 * and their split, then which experts are on the host.
 */
#ifndef MS_SERVE_INFER_LLAMACPP_FIT_H
#define MS_SERVE_INFER_LLAMACPP_FIT_H

#include "serve/infer/kit/engine.h"

/* See ms_infer_engine: with settings.llama.engine_fit. MS_ERR_USAGE: the memory is not known, or a
 * list has another length than there are devices. */
ms_status ms_llama_choose(const ms_infer_job *job, ms_infer_settings *settings,
                          ms_infer_choice *choice, ms_error *err);
/* The most of settings.llama.free_memory, which is given; as many values as there are devices. */
ms_status ms_llama_free_most(const ms_infer_settings *settings, bool is_cpu, uint64_t *bytes,
                             ms_error *err);

#endif
