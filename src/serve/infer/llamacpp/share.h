/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The step of llama.cpp's own --fit that shares layers among devices.
 */
#ifndef MS_SERVE_INFER_LLAMACPP_SHARE_H
#define MS_SERVE_INFER_LLAMACPP_SHARE_H

#include "serve/infer/llama/sizes.h"

/* ---- estimate ---- */

/* llama.cpp's own estimate of what a run takes, without loading, on which its --fit relies:
 * weights, caches and compute buffers of each device, neither pools nor cuBLAS's workspace. */

typedef struct ms_llama_estimate {
    int64_t weights, all; /* bytes */
} ms_llama_estimate;

/* Which weights of a layer are elsewhere: a row of regular expressions each. */
typedef enum ms_llama_spill {
    MS_LLAMA_SPILL_EXPERTS,   /* a mixture's experts */
    MS_LLAMA_SPILL_MLP,       /* all but attention */
    MS_LLAMA_SPILL_GATE_DOWN, /* the same without the projection up */
    MS_LLAMA_SPILL_DOWN,
    MS_LLAMA_SPILLS
} ms_llama_spill;

/* Counts wrap as those of llama.cpp do, in 32 bits. */
typedef struct ms_llama_share {
    uint32_t layers;      /* the head is the last layer of the last device */
    uint32_t parted;      /* so many of them, the last ones, have weights elsewhere */
    ms_llama_spill first; /* of the first of these; of the others it is the experts */
    int to;               /* the place of what the first one spills: a device, or MS_INFER_HOST */
} ms_llama_share;

typedef struct ms_llama_layout {
    uint32_t devices;
    ms_llama_share shares[MS_LLAMA_MAX_DEVICES];
} ms_llama_layout;

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

/* ---- layout ---- */

/* How llama.cpp's own --fit shares a model among devices: layers of each, and of its last ones the
 * parts that are elsewhere. */

uint32_t ms_llama_layout_layers(const ms_llama_layout *layout);

/* The settings gpu-layers, tensor-split and override-tensor of a layout. False when out of memory.
 */
bool ms_llama_layout_set(const ms_llama_layout *layout, uint64_t n_layer, ms_arena *arena,
                         ms_infer_settings *settings);

/* "33 of 33 layers on devices (12 on CUDA0, 21 on CUDA1), experts of layers 23 to 31 on the host";
 * NULL: out of memory. */
const char *ms_llama_layout_text(const ms_llama_layout *layout, uint64_t n_layer, ms_arena *arena);

#endif
