/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rotary decoder, shared by decoder families. decoder.c has the embedding, masks, rotary
 * tables, the loop over layers, the last norm and the head. A layer is a program over an attention
 * and an MLP; a family selects all three, its own or those declared here.
 */
#ifndef MS_MODEL_DECODER_DECODER_H
#define MS_MODEL_DECODER_DECODER_H

#include "model/blocks/blocks.h"

typedef struct ms_decoder ms_decoder;

/* Places of norms of width H in a layer. */
typedef enum ms_norm_place {
    MS_NORM_BEFORE_ATTENTION,
    MS_NORM_AFTER_ATTENTION,
    MS_NORM_BEFORE_MLP,
    MS_NORM_AFTER_MLP,
    MS_NORM_PLACE_COUNT
} ms_norm_place;

typedef struct ms_norm_row {
    const char *name; /* NULL: end of the list */
    ms_norm_place place;
} ms_norm_row;

/* Where attention normalises each head's query and key. */
typedef enum ms_head_norms {
    MS_HEAD_NORMS_NONE,
    MS_HEAD_NORMS_AT_ONCE, /* after its projection */
    MS_HEAD_NORMS_BETWEEN, /* after all projections, on [B, S, H, D] */
    MS_HEAD_NORMS_LAST     /* the same on [B, H, S, D] */
} ms_head_norms;

/* The modules of a layer; attention and MLP are opaque. */
typedef struct ms_decoder_layer {
    uint32_t scope, number;
    void *attention, *mlp;
    ms_norm_module norms[MS_NORM_PLACE_COUNT]; /* weight 0: none */
} ms_decoder_layer;

/* Builds the modules of attention or MLP below `scope`, in the arena; NULL when out of memory. */
typedef void *(*ms_part_build)(ms_model *model, const ms_decoder *d, uint32_t scope,
                               uint32_t number);

/* The properties of a family. */
typedef struct ms_decoder_style {
    /* Of a layer, in the framework's order; none: input_layernorm before attention and
     * post_attention_layernorm before the MLP */
    ms_norm_row norms[MS_NORM_PLACE_COUNT];
    ms_region_fn run_layer;        /* NULL: ms_residual_layer; context is the model */
    ms_part_build build_attention; /* NULL: ms_self_attention_new */
    /* [B, S, H] to [B, S, H]; *weights: the probabilities, if eager. NULL: ms_self_attention */
    ms_tensor (*attention)(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                           ms_tensor hidden, ms_tensor *weights);
    /* Makes the rotary tables: cos and sin, or one tensor for both. NULL: ms_rotary_call */
    void (*rotary_tables)(ms_model *model, uint32_t scope, ms_tensor inv_freq,
                          ms_tensor position_ids, ms_dtype dtype, ms_tensor out[2]);
    ms_rotary_fn rotary;     /* NULL: ms_rotary_whole */
    ms_part_build build_mlp; /* NULL: ms_gated_mlp_new */
    ms_tensor (*mlp)(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden);
    /* Every norm of width H; NULL: ms_rms_norm_call. */
    ms_tensor (*norm)(ms_model *model, const ms_norm_module *module, ms_tensor x);
    /* Builds the towers before the text model of a multimodal model, whose text model is
     * "language_model". NULL: text only. */
    bool (*build_towers)(ms_model *model, uint32_t scope);
    /* Builds what a layer has behind its norms; what the model has before its head. NULL: nothing.
     * False when out of memory. */
    bool (*build_more_of_layer)(ms_model *model, ms_decoder *d, ms_decoder_layer *layer);
    bool (*build_more)(ms_model *model, ms_decoder *d);
    /* Creates the buffers of the rotary tables; NULL: as `rotary_by_kind` says. */
    void (*build_rotary)(ms_model *model, ms_decoder *d);
    /* Runs the model, of ids, or of their embeddings, which are then the caller's; NULL:
     * embedding, masks and layers. */
    ms_tensor (*run)(ms_model *model, ms_decoder *d, ms_tensor ids, ms_tensor given);
    /* The hidden states that the last norm made of ids and images, where the run has some. NULL: it
     * never has. */
    ms_tensor (*run_with_images)(ms_model *model, ms_decoder *d, ms_tensor ids);
    /* What becomes of a layer's states before the next layer gets them; `hidden` is the caller's.
     * NULL: nothing. */
    ms_tensor (*after_layer)(ms_model *model, uint32_t number, ms_tensor hidden);
    /* Adds the family's auxiliary loss to the loss, in place; *more: that loss, if it stays bound.
     * drop releases what the model kept for it. Both may be NULL. */
    void (*add_loss)(ms_model *model, ms_locals *f, ms_tensor *more, ms_tensor *loss);
    void (*drop)(ms_model *model);
    bool qkv_bias, output_bias, mlp_bias;
    bool fp32_rotary;              /* tables stay in fp32 */
    bool both_masks;               /* makes the sliding mask even if no layer slides */
    ms_head_norms head_norms;      /* norms of width D */
    bool projects_first;           /* all three projections, then the views as heads */
    bool scaled_embedding;         /* multiplied by a buffer of one element */
    bool rotary_by_kind;           /* separate tables for sliding layers */
    bool layers_without_positions; /* layers get no position ids */
    bool position_ids_first;       /* before the rotary tables in a layer's keyword arguments */
    const char *root_name;         /* NULL: "model" */
    const char *text_name;         /* of the text model below the root of a multimodal one */
    /* forward keeps the masks' arguments in a dict: a second reference */
    bool mask_arguments;
    bool masks_without_positions; /* masks get no position ids: no check for packed sequences */
    void *own;                    /* becomes ms_decoder's */
    bool sinks;                   /* a parameter per head that attention's softmax includes */
} ms_decoder_style;

typedef struct ms_rotary {
    ms_tensor inv_freq, original; /* buffers: the one used, and its copy */
    ms_tensor cos, sin;           /* of the running micro-batch; recomputed layers read them here */
} ms_rotary;

struct ms_decoder {
    ms_decoder_style style; /* with defaults in place of NULL */
    uint32_t scope, rotary_scope, embedding_scope;
    ms_tensor embedding, embedding_scale;
    ms_decoder_layer *layers;
    ms_norm_module norm;
    ms_tensor long_inv_freq; /* after the first forward, with long rotary embeddings */
    ms_rotary rotary[2];     /* [1]: of sliding layers, if by kind */
    ms_linear_module head;
    ms_tensor full_mask, sliding_mask, position_ids; /* of the running micro-batch */
    void *own; /* what the family has beside this, in the arena */
};

bool ms_decoder_build(ms_model *model, ms_decoder_style style);
void ms_decoder_forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out);
/* Parts of forward, for families with their own. The rotary tables and the hidden states are locals
 * of `f`. */
ms_tensor ms_decoder_run(ms_model *model, ms_decoder *d, ms_tensor embeds); /* the last norm's */
ms_tensor ms_decoder_embed(ms_model *model, const ms_decoder *d, ms_tensor ids);
ms_tensor *ms_decoder_layers(ms_model *model, ms_decoder *d, ms_locals *f, ms_tensor embeds,
                             ms_tensor position_ids);

/* Makes the masks that the style asks for, locals of `f`. */
void ms_decoder_make_masks(ms_model *model, ms_decoder *d, ms_locals *f, ms_tensor position_ids);
/* Makes the rotary tables of a pass, locals of `f`, in the type of the hidden states or in fp32. */
void ms_decoder_make_rotary(ms_model *model, ms_decoder *d, ms_locals *f, ms_tensor hidden,
                            ms_tensor position_ids);
/* Calls one layer under its treatment; the position ids come before the rotary tables among its
 * keyword arguments, or behind them. */
ms_tensor ms_decoder_call_layer(ms_model *model, uint32_t number, ms_tensor hidden,
                                ms_tensor position_ids, bool position_ids_first);

/* ---- parts (decoder_layer.c) ---- */

/* q, k, v and o projections below a module "self_attn", with the biases of the style. */
typedef struct ms_projections {
    uint32_t scope;
    ms_linear_module q_proj, k_proj, v_proj, o_proj;
} ms_projections;

#endif
