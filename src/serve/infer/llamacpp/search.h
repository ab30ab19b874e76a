/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The steps of llama.cpp's own --fit, for a memory that is free.
 */
#ifndef MS_SERVE_INFER_LLAMACPP_SEARCH_H
#define MS_SERVE_INFER_LLAMACPP_SEARCH_H

#include "serve/infer/llamacpp/share.h"

/* Sets ctx-size, and with a layout gpu-layers, tensor-split and override-tensor. */
ms_status ms_llama_search_run(ms_llama_search *search, ms_error *err);
#endif
