/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The work of a model as llama.cpp runs it: its tensors, in their types.
 */
#ifndef MS_SERVE_INFER_SPEED_LLAMA_WORK_H
#define MS_SERVE_INFER_SPEED_LLAMA_WORK_H

#include "serve/infer/kit/engine.h"

/* See ms_infer_engine. */
ms_status ms_llama_work(const ms_infer_job *job, const ms_infer_result *result, ms_infer_work *work,
                        ms_error *err);

#endif
