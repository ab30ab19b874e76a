/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mixtures of experts, shared by families with sparse layers. A family selects or defines a router
 * and a block; the run decides whether experts run as grouped products or one by one.
 */
#ifndef MS_MODEL_DECODER_EXPERTS_H
#define MS_MODEL_DECODER_EXPERTS_H

#include "model/decoder/decoder.h"
#include "model/decoder/expert_sizes.h"

/* ---- experts ---- */

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

/* ---- routers ---- */

/* Router: softmax of the logits in fp32, then the top K. */
typedef struct ms_router_form {
    bool floats_logits; /* softmax(logits.float()), not softmax(logits, dtype=float) */
    bool normalises;    /* weights of a token are normalised to sum 1 */
    bool casts_back;    /* weights in the dtype of the logits, else in fp32 */
} ms_router_form;

typedef struct ms_router_module {
    uint32_t scope;
    ms_tensor weight;
} ms_router_module;

ms_router_module ms_router_new(ms_model *model, uint32_t parent);
/* hidden: [N, H]. The tensors of `out` are retained until ms_routing_bind. */
void ms_router_call(ms_model *model, const ms_router_module *module, ms_router_form form,
                    ms_tensor hidden, ms_routing *out);
/* Retains a router's results, its locals, until ms_routing_bind. */
void ms_routing_keep(ms_model *model, ms_tensor logits, ms_tensor weights, ms_tensor experts,
                     ms_routing *out);
/* Binds a router's results as locals of the frame: logits, weights, experts. */
void ms_routing_bind(ms_locals *f, const ms_routing *routing);

/* ---- the block that replaces the MLP ---- */

typedef enum ms_block_order { MS_ROUTER_FIRST, MS_EXPERTS_FIRST } ms_block_order;

bool ms_layer_is_sparse(const ms_model *model, uint64_t layer);

/* Router and experts below a module "mlp", built in the given order. */
void *ms_sparse_mlp_new(ms_model *model, uint32_t parent, ms_block_order order);
ms_tensor ms_sparse_mlp(ms_model *model, const void *block, ms_router_form form, ms_tensor hidden);

#endif
