/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tensors of each architecture, one row each.
 */
#ifndef MS_SERVE_INFER_LLAMA_TENSORS_H
#define MS_SERVE_INFER_LLAMA_TENSORS_H

#include "serve/infer/llama/model.h"

/* Lists the tensors that a file of this model has, as 16-bit floats and, where the converter keeps
 * them so, 32-bit ones; sizes are set by ms_llama_tensors_place. */
ms_status ms_llama_tensors_make(ms_arena *arena, ms_llama_model *model, ms_error *err);
/* Sizes of all tensors by their types, and their places in the one file. */
ms_status ms_llama_tensors_place(ms_llama_model *model, ms_error *err);

/* "blk.12." begins a name of layer 12; the rest, or the whole name. */
const char *ms_llama_tensor_part(const char *name, int64_t *layer);
/* Where a tensor of that name is: MS_LLAMA_INPUT, MS_LLAMA_SHARED, a layer, or the head's. */
int64_t ms_llama_tensor_layer(const char *name, uint64_t n_layer);

/* "blk.12.attn_q.weight": whether the part after the layer is `name`. */
bool ms_llama_tensor_is(const ms_llama_tensor *tensor, const char *name);

#endif
