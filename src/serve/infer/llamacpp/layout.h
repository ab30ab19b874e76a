/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How llama.cpp's own --fit shares a model among devices: layers of each, and of its last ones the
 * parts that are elsewhere.
 */
#ifndef MS_SERVE_INFER_LLAMACPP_LAYOUT_H
#define MS_SERVE_INFER_LLAMACPP_LAYOUT_H

#include "serve/infer/llama/sizes.h"

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

/* No layers on any device. */
ms_llama_layout ms_llama_layout_empty(uint32_t devices);
uint32_t ms_llama_layout_layers(const ms_llama_layout *layout);

/* The settings gpu-layers, tensor-split and override-tensor of a layout. False when out of memory.
 */
bool ms_llama_layout_set(const ms_llama_layout *layout, uint64_t n_layer, ms_arena *arena,
                         ms_infer_settings *settings);
/* override-tensor for all experts on the host. */
const char *ms_llama_layout_experts_on_host(void);
/* "33 of 33 layers on devices (12 on CUDA0, 21 on CUDA1), experts of layers 23 to 31 on the host";
 * NULL: out of memory. */
const char *ms_llama_layout_text(const ms_llama_layout *layout, uint64_t n_layer, ms_arena *arena);

#endif
