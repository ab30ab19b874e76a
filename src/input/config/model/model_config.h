/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The architecture of a model, read from a Hugging Face config.json: typed, checked, with the
 * defaults of the class. Strings belong to the arena passed to the reader.
 */
#ifndef MS_INPUT_CONFIG_MODEL_MODEL_CONFIG_H
#define MS_INPUT_CONFIG_MODEL_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input/config/model/family.h"
#include "input/config/quantize/quantize.h"
#include "input/config/model/vision_config.h"
#include "core/tensor/dtype.h"

enum { MS_OWN_KEYS = 16 };

/* Flags in which layers of one model differ. */
enum {
    MS_LAYER_SLIDES = 1,       /* attention limited to sliding_window tokens */
    MS_LAYER_SPARSE = 2,       /* a mixture of experts instead of the MLP */
    MS_LAYER_NO_ROTARY = 4,    /* attention without rotary embeddings */
    MS_LAYER_TOKEN_MIXER = 8,  /* another token mixer instead of attention */
    MS_LAYER_DECODES = 16,     /* of the decoder beside an encoder */
    MS_LAYER_MLP_ALONE = 32,   /* no attention nor another token mixer */
    MS_LAYER_SPARSE_GATE = 64, /* the MLP's gate keeps its largest values alone */
    MS_LAYER_KINDS = 128       /* number of combinations */
};

/* Every member is bounded by its key's row, so products of three members fit 64 bits. */
struct ms_model_config {
    const ms_family *family;
    const char *model_type; /* as in the file */
    ms_head_kind head;      /* of the class in `architectures` */
    uint64_t num_labels;    /* number of classes of a classifier */
    const char *name;       /* preset name, file stem or directory; for titles */
    uint64_t vocab_size, hidden_size, intermediate_size;
    uint64_t num_layers, num_heads, num_kv_heads, head_dim;
    uint64_t value_dim;     /* of a head's value; 0: head_dim */
    uint64_t wide_head_dim; /* gemma4: head_dim of layers that do not slide; 0: head_dim */
    uint64_t wide_kv_heads; /* num_kv_heads of these layers; 0: num_kv_heads */
    uint64_t plain_key_dim; /* of a head's key, without rotary embedding, beside head_dim */
    uint64_t query_rank;    /* width of the latent for queries; 0: from the hidden state */
    uint64_t latent_rank;   /* width of the latent for keys and values; 0: none */
    /* deepseek_v32: heads of the indexer, 0: none; their width; tokens that it chooses for each */
    uint64_t index_heads, index_dim, index_tokens;
    bool keys_are_values;    /* gemma4: of layers that do not slide */
    uint64_t sharing_layers; /* gemma3n, gemma4: the last layers, which read earlier ones' keys */
    bool doubles_mlp;        /* gemma4: these layers have an MLP twice as wide */
    /* gemma3n, gemma4: width of a token's embedding for each layer, 0: none; rows of their table */
    uint64_t layer_input_size, layer_input_rows;
    /* gemma3n: streams of hidden states, the one that layers run; rank of Laurel's branch */
    uint64_t altup_streams, active_stream, laurel_rank;
    bool clips_coefficients, scales_corrected; /* gemma3n: in AltUp */
    bool has_experts;                          /* gemma4: experts beside each MLP */
    /* gemma4: whether attention is in both directions for some tokens, and for all, not only those
     * of one image */
    bool sees_ahead, sees_all;
    double wide_rotary_share;    /* gemma4: of a wide head, the share whose frequencies are not 0 */
    uint64_t max_positions;      /* rows of a learned position table; otherwise without effect */
    uint64_t skipped_positions;  /* rows of that table, the first ones, that no token has */
    uint64_t local_attention;    /* modernbert: width of the window around a token */
    uint64_t sliding_window;     /* tokens; 0 = none, use_sliding_window taken into account */
    uint64_t max_window_layers;  /* qwen: layers from this one on slide by default */
    uint64_t sliding_pattern;    /* every N-th layer does not slide */
    uint64_t no_rotary_interval; /* smollm3: every N-th layer has no rotary embedding */
    const uint8_t *layer_kinds;  /* of each layer, MS_LAYER_ flags */
    uint64_t pad_token_id;       /* UINT64_MAX = none */
    uint64_t num_experts, experts_per_token; /* of a sparse layer; 0: the family has none */
    uint64_t expert_size;                    /* intermediate size of one; 0: intermediate_size */
    uint64_t shared_expert_size;             /* of the shared expert, which runs for every token */
    uint64_t shared_experts;     /* number of shared experts of expert_size, fused into one */
    uint64_t sparse_step;        /* qwen: every N-th layer is sparse */
    uint64_t first_sparse_layer; /* deepseek: layers before this one are dense */
    uint64_t expert_groups, chosen_groups; /* deepseek: groups of experts; how many are selected */
    uint64_t linear_key_heads, linear_value_heads; /* qwen3_next: of linear attention */
    uint64_t convolution_width; /* of short convolutions in layers without attention */
    /* mamba2: width of the inner states = hidden_size * expansion; heads, their width, groups of
     * heads that share a projection. Elements of a channel's state, of mamba too */
    uint64_t expansion, state_size;
    uint64_t scan_heads, scan_head_dim, state_groups;
    bool residual_in_fp32;      /* mamba, mamba2 */
    uint64_t mlp_width;         /* lfm2: of the MLP; 0: intermediate_size */
    uint64_t prediction_layers; /* deepseek: multi-token prediction layers, not part of the class */
    bool limits_groups;         /* deepseek_v2 */
    bool normalises_experts;    /* weights of a token's experts are normalised to sum 1 */
    bool outputs_router_logits; /* adds the auxiliary loss, if its coefficient is not 0 */
    bool use_sliding_window, tie_word_embeddings;
    bool attention_bias, output_bias, mlp_bias;
    bool head_norms;               /* phi, cohere: norms over each head's query and key */
    bool scale_attn_weights;       /* gpt2 */
    bool caps_scores, caps_logits; /* soft caps c * tanh(x / c) of attention scores and of logits */
    bool long_rotary;              /* two sets of inverse frequencies, selected in every forward */
    bool parallel_residual;        /* gpt_neox: attention and MLP both read the layer's input */
    uint64_t embedding_width;      /* opt, electra: width of word embeddings and head; projected to
                                      hidden_size */
    bool groups_kv, shares_kv;     /* falcon: new_decoder_architecture, multi_query */
    bool is_parallel;              /* falcon: attention and MLP in parallel */
    bool alibi;              /* falcon: positions as a bias of the scores, instead of rotary */
    bool broadcasts_kv;      /* falcon: one key head, which attention broadcasts */
    uint64_t parallel_norms; /* falcon: norms before parallel attention and MLP: 1 or 2 */
    double mixing_dropout;   /* falcon: dropout of attention's output if the MLP follows */
    uint64_t image_sides[2], patch_sides[2]; /* vit: height and width, pixels */
    /* vit; tokens per image, the sequence length, else 0 */
    uint64_t num_channels, image_tokens;
    /* An encoder with a decoder: the layers of each; num_layers counts both, the encoder's first */
    bool is_encoder_decoder;
    uint64_t encoder_layers, decoder_layers;
    uint64_t encoder_intermediate;       /* whisper: width of the encoder's MLPs */
    uint64_t mel_bins, source_positions; /* whisper: numbers per frame; positions of the encoder */
    uint64_t bias_buckets;               /* t5: rows of the table of relative positions */
    bool gates_mlp;                      /* t5: feed_forward_proj */
    uint64_t sentence_types;             /* bert: rows of the table of token types */
    double classifier_dropout;           /* bert: dropout before a classifier's head */
    double layer_drop;                   /* opt, whisper: share of skipped layers; must be 0 */
    ms_activation activation;
    ms_activation head_activation; /* modernbert: before the head */
    ms_vision_config vision;
    ms_audio_config audio;
    uint64_t image_token_id; /* the id that marks an image in the input */
    double attention_dropout, residual_dropout, embedding_dropout;
    double rotary_share;    /* share of each head's elements, from the first, that rotate; 0: all */
    uint64_t rotary_width;  /* minimax_m2: the same as a count; 0: see rotary_share */
    double router_jitter;   /* mixtral, minimax_m2 */
    bool clips_projections; /* olmoe */
    bool turns_heads;       /* granitemoehybrid: position_embedding_type is rope */
    bool has_dtype, is_fp8; /* of the file; "dtype" is fp8 */
    ms_dtype dtype;         /* "torch_dtype" or "dtype" of the file, if has_dtype */
    ms_quantization quantization; /* quantization_config of the file */
    /* How the file asks to run it; NULL: it does not say. See other/run_keys.h. */
    const char *asked_attention, *asked_experts;
    bool asks_checkpoints;
    /* Keys that only the family's own text knows: a count, or in its first bytes a bool or a
     * double.
     */
    uint64_t own[MS_OWN_KEYS];
};

/* The widths of a head's key (and query) and of its value. */
static inline uint64_t ms_key_dim(const ms_model_config *config)
{
    return config->head_dim + config->plain_key_dim;
}

static inline uint64_t ms_value_dim(const ms_model_config *config)
{
    return config->value_dim > 0 ? config->value_dim : config->head_dim;
}

static inline uint8_t ms_layer_kind(const ms_model_config *config, uint64_t layer)
{
    return config->layer_kinds ? config->layer_kinds[layer] : 0;
}

static inline bool ms_layer_slides(const ms_model_config *config, uint64_t layer)
{
    return ms_layer_kind(config, layer) & MS_LAYER_SLIDES;
}

/* An expert's intermediate size. */
static inline uint64_t ms_expert_size(const ms_model_config *model)
{
    return model->expert_size > 0 ? model->expert_size : model->intermediate_size;
}

/* What reports call the model. */
static inline const char *ms_model_title(const ms_model_config *model)
{
    return model->name && *model->name ? model->name : model->model_type;
}

/* Whether the layer is one of those that wide_head_dim and wide_kv_heads are for. */
static inline bool ms_layer_is_wide(const ms_model_config *config, uint64_t layer)
{
    return config->wide_head_dim > 0 && !ms_layer_slides(config, layer);
}

/* A model all of whose layers have the heads of one kind of this one's. */
static inline ms_model_config ms_layers_alike(const ms_model_config *config, bool are_wide)
{
    ms_model_config alike = *config;
    if (are_wide && config->wide_head_dim > 0)
        alike.head_dim = config->wide_head_dim;
    if (are_wide && config->wide_kv_heads > 0)
        alike.num_kv_heads = config->wide_kv_heads;
    alike.wide_head_dim = alike.wide_kv_heads = 0;
    return alike;
}

static inline bool ms_layer_is_token_mixer(const ms_model_config *config, uint64_t layer)
{
    return ms_layer_kind(config, layer) & MS_LAYER_TOKEN_MIXER;
}

/* The number of elements of each head that the config asks to rotate. */
static inline uint64_t ms_rotary_share(const ms_model_config *config)
{
    bool all = config->rotary_share <= 0;
    return all ? config->head_dim : (uint64_t)((double)config->head_dim * config->rotary_share);
}

/* The number that is rotated: even, as a table has columns; heads are split by its width. */
static inline uint64_t ms_rotary_dim(const ms_model_config *config)
{
    uint64_t share = ms_rotary_share(config);
    return share + share % 2;
}

#endif
