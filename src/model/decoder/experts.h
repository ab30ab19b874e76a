/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The stacked experts of a layer. The run decides whether they run as grouped products or one by
 * one.
 */
#ifndef MS_MODEL_DECODER_EXPERTS_H
#define MS_MODEL_DECODER_EXPERTS_H

#include "model/blocks/blocks.h"
#include "model/decoder/expert_sizes.h"

/* Properties of a family's experts; all zero: no biases, act(gate) * up of the hidden size. */
typedef struct ms_experts_form {
    const char *name; /* NULL: "experts" */
    bool bias;
    /* act(up) without a gate: weights [E, F, H] and [E, H, F]. The loop over experts then adds up
     * in the type of the routing weights. */
    bool ungated;
    ms_dim width;        /* H of the weights; 0: the hidden size */
    ms_dim count, inner; /* E and F; 0: the config's */
    bool transposed;     /* weights [E, H, 2F] and [E, F, H] instead of [E, 2F, H] and [E, H, F] */
    /* [T, 2F] to [T, F], as _apply_gate; NULL: act(gate) * up of the two halves */
    ms_tensor (*gate)(ms_model *model, ms_tensor gate_up);
} ms_experts_form;

/* All experts of a layer, with stacked weights. */
typedef struct ms_experts_module {
    uint32_t scope;
    ms_experts_form form;
    ms_dim count, width, inner;                       /* E, H and F */
    ms_tensor gate_up, gate_up_bias, down, down_bias; /* biases 0: none */
} ms_experts_module;

/* A router's results: its logits, and for each token its experts and their weights, both [N, K]. */
typedef struct ms_routing {
    ms_tensor logits, weights, experts;
} ms_routing;

ms_experts_module ms_experts_new(ms_model *model, uint32_t parent, ms_experts_form form);
/* hidden: [N, H]; the caller owns the tensors of the routing. */
ms_tensor ms_experts_call(ms_model *model, const ms_experts_module *module, ms_tensor hidden,
                          const ms_routing *routing);

#endif
