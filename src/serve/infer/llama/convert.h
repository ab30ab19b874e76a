/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The GGUF file that llama.cpp's converter would make of a config.json: hyperparameters, and the
 * tensors with the types of a 16-bit file.
 */
#ifndef MS_SERVE_INFER_LLAMA_CONVERT_H
#define MS_SERVE_INFER_LLAMA_CONVERT_H

#include "serve/infer/llama/model.h"

ms_status ms_llama_convert(const ms_infer_job *job, ms_llama_model *model, ms_error *err);

#endif
