/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Formats of packed weights, as transformers 5.23 loads them.
 */
#ifndef MS_SERVE_INFER_HF_FORMATS_H
#define MS_SERVE_INFER_HF_FORMATS_H

#include "input/config/run/run_config.h"
#include "serve/infer/kit/engine.h"

/* How the weights are packed: by the setting quantize, else by the config. MS_ERR_USAGE or
 * MS_ERR_CONFIG: it is not predicted. */
ms_status ms_hf_quantization(const ms_infer_job *job, ms_quantization *quantization, ms_error *err);

/* The allocator's settings that the library of a format makes, unless the job has its own. */
void ms_hf_set_allocator(const ms_infer_job *job, ms_run_config *run);

/* What a report says of the format; NULL: nothing. `quantization` is that of the resolved run. */
const char *ms_hf_format_note(const ms_infer_job *job, const ms_quantization *quantization);

#endif
