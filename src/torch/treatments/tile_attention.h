/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_TORCH_TREATMENTS_TILE_ATTENTION_H
#define MS_TORCH_TREATMENTS_TILE_ATTENTION_H

#include "torch/autograd/tape.h"

typedef struct ms_tiled_attention ms_tiled_attention;

/* Attention over queries [B, H, S, D], keys, values and a mask (0: none), owned by the caller;
 * returns [B, S, H, D]. */
typedef ms_tensor (*ms_attention_fn)(ms_tape *tape, const ms_tiled_attention *attention,
                                     ms_tensor query, ms_tensor key, ms_tensor value,
                                     ms_tensor mask);

/* An attention function that backward recomputes. */
struct ms_tiled_attention {
    ms_attention_fn run;
    void *context;
    uint64_t layer; /* whose attention it is */
    uint32_t pieces;
};

/* Causal attention in tiles of the queries, each with the keys up to its end, without a graph.
 * Backward recomputes each tile and runs its backward. The caller owns the arguments. */
ms_tensor ms_tiled_attention_run(ms_tape *tape, ms_tiled_attention attention, ms_tensor query,
                                 ms_tensor key, ms_tensor value, ms_tensor mask);

#endif
