/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Hyperparameters from a GGUF file's metadata.
 */
#ifndef MS_SERVE_INFER_LLAMA_METADATA_H
#define MS_SERVE_INFER_LLAMA_METADATA_H

#include "serve/infer/llama/model.h"

/* Fills all but the tensors. */
ms_status ms_llama_metadata_read(const ms_gguf *gguf, ms_arena *arena, ms_llama_model *model,
                                 ms_error *err);

/* The context that the model was trained with; 0: the file does not say it. */
uint64_t ms_llama_metadata_positions(const ms_gguf *gguf);

#endif
