/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model as a program on the tape: build creates the parameters in the framework's order, forward
 * runs one micro-batch, with or without labels. A family is a text (families/).
 */
#ifndef MS_MODEL_BLOCKS_MODEL_H
#define MS_MODEL_BLOCKS_MODEL_H

#include "base/arena.h"
#include "input/config/run/attention.h"
#include "input/config/run/run_config.h"
#include "torch/autograd/engine.h"
#include "torch/autograd/tape.h"

typedef struct ms_model_config ms_model_config;

/* A module with its own parameters, which an adapter may change. */
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

/* Forward of an adapted layer; `linear` is the operator of its base layer. Consumes x as that does.
 */
typedef ms_tensor (*ms_leaf_call)(struct ms_model *model, const ms_leaf_module *leaf,
                                  const ms_linear_module *module, ms_tensor x, ms_linear_fn linear);

struct ms_leaf_module {
    ms_leaf_kind kind;
    uint32_t scope;
    ms_tensor weight, bias; /* bias 0: none */
    bool is_head;
    bool has_two_results;           /* of its forward, which an adapter takes for one */
    bool is_saved;                  /* modules_to_save of an adapter: trained in full */
    struct ms_adapted *adapted;     /* NULL: it is not */
    struct ms_quantized *quantized; /* NULL: it is not */
    ms_leaf_call call;              /* of its adapter; NULL: the base layer's own */
};

typedef struct ms_model {
    ms_tape *tape;
    ms_arena *arena;
    const ms_model_config *config;
    const ms_run_config *run;
    ms_attention attention;  /* resolved: never auto */
    ms_backends backends[2]; /* of fused calls; [1]: of layers with wide heads */
    bool softmax_in_fp32;    /* eager attention; its output is then also made contiguous */
    bool softmax_uncast;     /* the same output, but probabilities stay in the scores' dtype */
    ms_dim source;           /* tokens of the encoder's sequence, where there is a decoder too */
    /* Runs such an encoder alone on its input: [B, source, H], held by the caller; 0 when the tape
     * failed. NULL: other models. */
    ms_tensor (*encode)(struct ms_model *model, ms_tensor input);
    ms_dim batch, seq, hidden, intermediate, vocab, heads, kv_heads, head_dim;
    ms_dim rotary_dim; /* elements of each head that are rotated */
    /* Applied to the head's logits before the loss; NULL: nothing. */
    ms_tensor (*scale_logits)(ms_tape *tape, ms_tensor logits);
    ms_dim labels; /* number of classes of a classifier */
    /* Labels of sequences, [B], or of tokens, [B, S]; 0: the head has none. */
    ms_tensor class_labels;
    /* The number of labels, an int64 on the device; 0: the loss counts them. */
    ms_tensor label_count;
    ms_tensor attention_mask;        /* of the batch, [B, S] of int64; 0: none */
    ms_tensor mask;                  /* of an encoder's layers, made of it; 0: none */
    ms_tensor position_ids;          /* given to the model; 0: it makes them */
    uint64_t idle_param_count;       /* parameters of experts that a token does not use */
    ms_shared_arguments shared;      /* of the running micro-batch's layers, if they share some */
    ms_cache *cache;                 /* of the running pass; NULL: none */
    bool batches_experts;            /* grouped experts as batches, as generate() decodes */
    ms_vec(ms_tensor) router_logits; /* of the running micro-batch, by layer; kept for their loss */
    void *modules;                   /* owned by the family */
    ms_tensor pixel_values;          /* of the images: patches in rows or pictures, fp32 */
    ms_tensor image_places;          /* gemma4: column and row of each patch, int64; -1: padding */
    ms_tensor position_shift;        /* what transformers keeps as rope_deltas; 0: none yet */
    ms_vec(ms_leaf_module) leaves;   /* in the order of the framework's named_modules() */
    ms_exceptions *exceptions;       /* from packing linear layers; NULL: no exceptions */
    ms_tensor dynamic_code;          /* shared by all doubly quantised weights */
    ms_tensor scale_order;           /* shared by all layers of Marlin */
    const uint32_t *leaf_by_scope;   /* of `indexed_scopes` entries; MS_NONE: not in `leaves` */
    uint32_t indexed_scopes;
    uint64_t host_parameters, host_fetches; /* how many; see host_modules.h */
} ms_model;

/* Inputs of a forward pass; the caller owns the tensors and the cache. */
typedef struct ms_model_inputs {
    ms_tensor ids;        /* [B, S], or images [B, C, height, width] */
    ms_tensor encoded;    /* what `encode` yielded, and `ids` are the decoder's; 0: it is to run */
    ms_tensor labels;     /* [B, S]; 0: no loss. Labels of classes are in model->class_labels */
    ms_cache *cache;      /* of earlier tokens; the pass adds those of `ids`. NULL: none */
    uint64_t kept_logits; /* run the head on so many of the last tokens; 0: on all */
    bool keeps_hidden;    /* return the last hidden states */
    bool keeps_logits;    /* return the logits also with a loss; without one they always are */
} ms_model_inputs;

/* Outputs of a forward pass: references owned by the caller, or 0. */
typedef struct ms_model_outputs {
    ms_tensor hidden; /* [B, S, H], the input of the head */
    ms_tensor logits; /* [B, kept tokens, V], or [B, classes] */
    ms_tensor loss;   /* a scalar */
    /* What is handed out beside them: features of images; without a loss, that of the routers. */
    ms_tensor auxiliary;
} ms_model_outputs;

typedef struct ms_model_program {
    bool (*build)(ms_model *model);
    /* Runs one micro-batch of the model's `batch` and `seq`. `out` must be zeroed. Call it through
     * ms_model_forward. */
    void (*forward)(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out);
} ms_model_program;

/* Sets dimensions and resolves attention; the family of the config has build and forward. */
void ms_model_init(ms_model *model, ms_tape *tape, ms_arena *arena, const ms_model_config *config,
                   const ms_run_config *run);
void ms_model_free(ms_model *model); /* the caller owns tape and arena */
/* Runs the program's forward; `out` must be zeroed. */
void ms_model_forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out);
/* Call it after build; false when out of memory. */
bool ms_model_index_leaves(ms_model *model);
/* The leaf with that scope, or NULL. */
ms_leaf_module *ms_model_leaf(const ms_model *model, uint32_t scope);

#endif
