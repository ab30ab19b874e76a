/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What llama.cpp allocates before it computes: weights, caches, recurrent states, the buffer of
 * outputs. One buffer for each place, as the engine names them.
 */
#ifndef MS_SERVE_INFER_LLAMA_BUFFERS_H
#define MS_SERVE_INFER_LLAMA_BUFFERS_H

#include "serve/infer/llama/sizes.h"

ms_status ms_llama_weights_add(const ms_llama_run *run, ms_infer_result *result, ms_error *err);
ms_status ms_llama_caches_add(const ms_llama_run *run, ms_infer_result *result, ms_error *err);
ms_status ms_llama_output_add(const ms_llama_run *run, ms_infer_result *result, ms_error *err);

/* Cells of a cache, for one stream: of layers with a window, or of the others. */
uint64_t ms_llama_cells(const ms_llama_run *run, bool slides);
bool ms_llama_has_layers(const ms_llama_model *model, bool slides);

#endif
