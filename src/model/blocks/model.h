/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model as a program on the tape: build makes the parameters in the framework's order, forward
 * runs one micro-batch, with labels for its loss or without. A family is one file and one row of
 * families.c.
 */
#ifndef MS_MODEL_BLOCKS_MODEL_H
#define MS_MODEL_BLOCKS_MODEL_H

#include "base/arena.h"
#include "config/model/model_config.h"
#include "config/run/run_config.h"
#include "autograd/tape.h"

/* A module that holds parameters itself: what an adapter may change. */
typedef enum ms_leaf_kind {
    MS_LEAF_LINEAR,
    MS_LEAF_CONV1D, /* GPT-2's linear layer: the weight is transposed */
    MS_LEAF_EMBEDDING,
    MS_LEAF_NORM
} ms_leaf_kind;

struct ms_adapted;                /* see model/blocks/adapter.h */
struct ms_quantized;              /* see model/blocks/packed/quantized.h */
typedef struct ms_cache ms_cache; /* see model/blocks/cache.h */

typedef struct ms_linear_module {
    uint32_t scope;
    ms_tensor weight, bias; /* bias 0: none */
} ms_linear_module;

/* A linear layer's operator: y = x Wᵀ + b, or Conv1D's. */
typedef ms_tensor (*ms_linear_fn)(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias);

typedef struct ms_leaf_module ms_leaf_module;
struct ms_model;

/* A changed layer's forward; `linear` is the one of its base layer. Consumes x as that does. */
typedef ms_tensor (*ms_leaf_call)(struct ms_model *model, const ms_leaf_module *leaf,
                                  const ms_linear_module *module, ms_tensor x, ms_linear_fn linear);

struct ms_leaf_module {
    ms_leaf_kind kind;
    uint32_t scope;
    ms_tensor weight, bias; /* bias 0: none */
    bool is_head;
    bool is_saved;                  /* by an adapter: trained as a whole */
    struct ms_adapted *adapted;     /* NULL: it is not */
    struct ms_quantized *quantized; /* NULL: it is not */
    ms_leaf_call call;              /* an adapter's; NULL: the base layer's own */
};

typedef struct ms_model {
    ms_tape *tape;
    ms_arena *arena;
    const ms_model_config *config;
    const ms_run_config *run;
    ms_attention attention;        /* resolved: never auto */
    ms_attention masked_attention; /* of layers that need a mask */
    bool softmax_in_fp32;          /* eager attention's; its output is then also made contiguous */
    bool softmax_uncast; /* the same output, but probabilities stay in the scores' dtype */
    ms_dim batch, seq, hidden, intermediate, vocab, heads, kv_heads, head_dim;
    ms_dim rotary_dim; /* of each head, what the rotary embedding turns */
    /* What becomes of the head's logits before the loss; NULL: nothing. */
    ms_tensor (*scale_logits)(ms_tape *tape, ms_tensor logits);
    ms_dim labels; /* number of classes of a classifier */
    /* [B], labels of whole sequences; 0: the head has no such labels. */
    ms_tensor class_labels;
    /* How many labels the loss counts, an int64 on the device; 0: the loss counts by itself. */
    ms_tensor label_count;
    uint64_t idle_param_count;       /* of experts that a token does not use */
    ms_cache *cache;                 /* of the running pass; NULL: none */
    ms_vec(ms_tensor) router_logits; /* of the running micro-batch, by layer: held for their loss */
    void *modules;                   /* the family's own */
    ms_vec(ms_leaf_module) leaves;   /* in the order of the framework's named_modules() */
    ms_exceptions *exceptions;       /* from the packing of linear layers; NULL: none were met */
    ms_tensor dynamic_code;          /* of all doubly quantised weights */
    const uint32_t *leaf_by_scope;   /* of `indexed_scopes` scopes; MS_NONE: not in `leaves` */
    uint32_t indexed_scopes;
} ms_model;

/* What a forward pass is given; the tensors and the cache stay the caller's. */
typedef struct ms_model_inputs {
    ms_tensor ids;        /* [B, S], or pictures [B, C, height, width] */
    ms_tensor labels;     /* [B, S]; 0: none, and so no loss. Classes are in model->class_labels */
    ms_cache *cache;      /* of earlier tokens; those of `ids` are added. NULL: none */
    uint64_t kept_logits; /* the head runs on the last tokens alone; 0: on all */
    bool keeps_hidden;    /* the last hidden states are handed out */
    bool keeps_logits;    /* so are the logits where there is a loss; without one they always are */
} ms_model_inputs;

/* What it hands out: references that are the caller's, or 0. */
typedef struct ms_model_outputs {
    ms_tensor hidden;    /* [B, S, H], what the head was given */
    ms_tensor logits;    /* [B, kept tokens, V], or [B, classes] */
    ms_tensor loss;      /* a scalar */
    ms_tensor auxiliary; /* the routers' loss, where there is no other that it is added to */
} ms_model_outputs;

typedef struct ms_model_program {
    bool (*build)(ms_model *model);
    /* Runs one micro-batch, [B, S] as in the model. `out` is all 0 before. To be called by
     * ms_model_forward. */
    void (*forward)(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out);
} ms_model_program;

/* Fills dimensions and resolves attention; build and forward come from the config's family. */
void ms_model_init(ms_model *model, ms_tape *tape, ms_arena *arena, const ms_model_config *config,
                   const ms_run_config *run);
void ms_model_free(ms_model *model); /* tape and arena are the caller's */
/* Runs the program's forward; `out` is all 0 before. */
void ms_model_forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out);
/* To be called once the program has built; false when out of memory. */
bool ms_model_index_leaves(ms_model *model);
/* The leaf with that scope, or NULL. */
ms_leaf_module *ms_model_leaf(const ms_model *model, uint32_t scope);

#endif
