/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The step of llama.cpp's own --fit that shares layers among devices.
 */
#ifndef MS_SERVE_INFER_LLAMACPP_SHARE_H
#define MS_SERVE_INFER_LLAMACPP_SHARE_H

#include "serve/infer/llama/sizes.h"
#include "serve/infer/llamacpp/layout.h"

/* ---- estimate ---- */

/* llama.cpp's own estimate of what a run takes, without loading, on which its --fit relies:
 * weights, caches and compute buffers of each device, neither pools nor cuBLAS's workspace. */

typedef struct ms_llama_estimate {
    int64_t weights, all; /* bytes */
} ms_llama_estimate;

typedef struct ms_llama_search {
    const ms_infer_job *job; /* the settings: see `settings` */
    const ms_llama_model *model;
    ms_infer_settings settings; /* those given, then those chosen */
    bool is_context_free;       /* no context was given */
    uint32_t devices;           /* 0: the host alone */
    int64_t free[MS_LLAMA_MAX_DEVICES], margin[MS_LLAMA_MAX_DEVICES]; /* of the host where 0 */
    /* What is found: */
    bool has_layout; /* layers were shared anew */
    ms_llama_layout layout;
    const char *failure; /* why it gives up; static; or NULL */
    bool is_changed;
    uint32_t trials;
} ms_llama_search;

/* One estimate more, of the settings as they are. */
ms_status ms_llama_share_estimate(ms_llama_search *search, const ms_infer_settings *settings,
                                  ms_llama_estimate *estimates, ms_error *err);
/* Fills search->layout, with the context that is set. Layers go to the devices from the last one
 * on, of a mixture without their experts; then, from the first device on, experts that there is
 * room for. */
ms_status ms_llama_share_layers(ms_llama_search *search, ms_error *err);

#endif
