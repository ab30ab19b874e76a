/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The work of a model that a config.json describes, as transformers and vLLM run it.
 */
#ifndef MS_SERVE_INFER_SPEED_CONFIG_WORK_H
#define MS_SERVE_INFER_SPEED_CONFIG_WORK_H

#include "serve/infer/kit/engine.h"

/* See ms_infer_engine: of weights as the config has them; as they are loaded, where the engine may
 * dequantise them on loading. */
ms_status ms_config_work(const ms_infer_job *job, const ms_infer_result *result,
                         ms_infer_work *work, ms_error *err);
ms_status ms_config_work_as_loaded(const ms_infer_job *job, const ms_infer_result *result,
                                   ms_infer_work *work, ms_error *err);

#endif
