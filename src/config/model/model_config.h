/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model's shape, read from a Hugging Face config.json: typed, checked, defaults of the class
 * filled in. Strings belong to the arena that was passed to the reader.
 */
#ifndef MS_CONFIG_MODEL_MODEL_CONFIG_H
#define MS_CONFIG_MODEL_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "config/model/quantize.h"
#include "tensor/dtype.h"

typedef enum ms_activation {
    MS_ACTIVATION_SILU,      /* "silu", "swish" */
    MS_ACTIVATION_GELU,      /* "gelu": fused, erf */
    MS_ACTIVATION_GELU_TANH, /* "gelu_pytorch_tanh": fused */
    MS_ACTIVATION_GELU_NEW,  /* "gelu_new": composed of eight operators */
    MS_ACTIVATION_GELU_FAST, /* "gelu_fast": composed of nine operators */
    MS_ACTIVATION_RELU,      /* "relu" */
    MS_ACTIVATION_RELU2,     /* "relu2": relu(x) ** 2 */
    MS_ACTIVATION_COUNT
} ms_activation;

/* What stands on a family's trunk, and with it the loss and the labels. */
typedef enum ms_head_kind {
    MS_HEAD_CAUSAL_LM,   /* the next token's logits */
    MS_HEAD_LAST_TOKEN,  /* classes of a sequence, by its last token that is no padding */
    MS_HEAD_FIRST_TOKEN, /* classes of a sequence or an image, by its first token */
    MS_HEAD_MASKED_LM,   /* each token's own logits */
    MS_HEAD_PRETRAINING  /* the same, and whether the second sentence follows the first */
} ms_head_kind;

/* One class of a family, as `architectures` names it. */
typedef struct ms_model_class {
    const char *name; /* NULL: the end of the table */
    ms_head_kind head;
} ms_model_class;

enum { MS_FAMILY_CLASSES = 6 };

struct ms_family;

/* What layers of one model differ in. */
enum {
    MS_LAYER_SLIDES = 1,      /* attention within sliding_window tokens */
    MS_LAYER_SPARSE = 2,      /* a mixture of experts in the place of the MLP */
    MS_LAYER_NO_ROTARY = 4,   /* attention that knows no positions */
    MS_LAYER_TOKEN_MIXER = 8, /* something else in the place of attention */
    MS_LAYER_KINDS = 16       /* how many values of flags there are */
};

/* The tower that sees, of models that have one. */
typedef struct ms_vision_config {
    uint64_t hidden_size, intermediate_size, num_layers, num_heads;
    uint64_t image_size, patch_size, channels; /* pixels, pixels, colours */
    bool has_head;                             /* pools by attention */
    /* Qwen's: patches that become one token, along a side; frames to a patch; the width of such
     * tokens; places of the table of positions; mergers besides the last */
    uint64_t merge_size, frames, out_size, positions, deep_mergers;
} ms_vision_config;

/* Every member is bounded by its key's row, so products of three members fit 64 bits. */
typedef struct ms_model_config {
    const struct ms_family *family;
    const char *model_type; /* as in the file */
    ms_head_kind head;      /* of the class in `architectures` */
    uint64_t num_labels;    /* number of classes of a classifier */
    const char *name;       /* preset name, file stem or directory; for titles */
    uint64_t vocab_size, hidden_size, intermediate_size;
    uint64_t num_layers, num_heads, num_kv_heads, head_dim;
    uint64_t value_dim;      /* of a head's value; 0: head_dim */
    uint64_t plain_key_dim;  /* of a head's key in addition to head_dim, without rotary embedding */
    uint64_t query_rank;     /* of the latent queries are made from; 0: from the hidden state */
    uint64_t latent_rank;    /* of the latent keys and values are made from; 0: none */
    uint64_t max_positions;  /* rows of a learned position table; else only informative */
    uint64_t sliding_window; /* tokens; 0 = none, use_sliding_window taken into account */
    uint64_t max_window_layers;  /* qwen: layers >= this one slide by default */
    uint64_t sliding_pattern;    /* every N-th layer does not slide */
    uint64_t no_rotary_interval; /* smollm3: every N-th layer has no rotary embedding */
    const uint8_t *layer_kinds;  /* of each layer, MS_LAYER_ flags */
    uint64_t pad_token_id;       /* UINT64_MAX = none */
    uint64_t num_experts;        /* of a sparse layer; 0: the family has none */
    uint64_t experts_per_token;
    uint64_t expert_size;                  /* intermediate size of one; 0: intermediate_size */
    uint64_t shared_expert_size;           /* of the expert that sees every token */
    uint64_t shared_experts;               /* how many of expert_size see every token, as one */
    uint64_t sparse_step;                  /* qwen: every N-th layer is sparse */
    uint64_t first_sparse_layer;           /* deepseek: layers before this one are dense */
    uint64_t expert_groups, chosen_groups; /* deepseek: experts are taken from this many groups */
    /* qwen3_next: heads of linear attention and their widths; elements that its convolution, or
     * lfm2's, sees at once; every N-th layer is full attention */
    uint64_t linear_key_heads, linear_value_heads, linear_key_dim, linear_value_dim;
    uint64_t convolution_width, attention_interval;
    bool convolution_bias; /* lfm2 */
    /* lfm2: the MLP is two thirds of intermediate_size wide, times a share, rounded up to steps */
    bool adjusts_intermediate;
    uint64_t intermediate_step;
    double intermediate_share;
    uint64_t prediction_layers; /* deepseek: stored with the model, no part of its class */
    bool limits_groups;         /* deepseek_v2 */
    bool pairs_neighbours;      /* rotary embeddings turn neighbours, not halves */
    bool normalises_experts;    /* the weights of a token's experts add up to 1 */
    bool outputs_router_logits; /* and adds the auxiliary loss, if its coefficient is not 0 */
    bool use_sliding_window;
    bool tie_word_embeddings;
    bool attention_bias, output_bias, mlp_bias;
    bool head_norms;               /* phi, cohere: over each head's query and key */
    bool scale_attn_weights;       /* gpt2 */
    bool caps_scores, caps_logits; /* c * tanh(x / c), of attention and of the head */
    bool long_rotary;              /* two sets of inverse frequencies, chosen in every forward */
    bool parallel_residual;        /* gpt_neox: attention and MLP both read the layer's input */
    uint64_t embedding_width;      /* opt: of word embeddings and head; projected to hidden_size */
    bool norm_before;          /* opt: norms before attention and MLP; else after the residual */
    bool drops_final_norm;     /* opt: _remove_final_layer_norm */
    bool norm_affine;          /* opt: norms have parameters */
    bool groups_kv, shares_kv; /* falcon: new_decoder_architecture, multi_query */
    bool is_parallel;          /* falcon: attention and MLP side by side */
    bool alibi;                /* falcon: positions as a bias of the scores, not rotary */
    bool broadcasts_kv;        /* falcon: one key head that attention itself broadcasts */
    uint64_t parallel_norms;   /* falcon: before attention and MLP side by side: 1 or 2 */
    double mixing_dropout;     /* falcon: of attention's output where the MLP follows */
    uint64_t image_sides[2], patch_sides[2]; /* vit: height and width, pixels */
    uint64_t num_channels;                   /* vit */
    uint64_t image_tokens;     /* vit: tokens of its image, the length of every sequence; else 0 */
    uint64_t sentence_types;   /* bert: rows of the table of token types */
    double classifier_dropout; /* bert: before a classifier's head */
    double layer_drop;         /* opt: share of layers skipped at random; only 0 is modelled */
    ms_activation activation;
    ms_vision_config vision;
    uint64_t image_token_id; /* stands for an image among the ids */
    double attention_dropout, residual_dropout, embedding_dropout;
    double
        rotary_share; /* of each head's elements, the first, that turn; 0: the family turns all */
    uint64_t rotary_width;  /* minimax_m2: the same in elements; 0: see rotary_share */
    double router_jitter;   /* mixtral, minimax_m2 */
    bool clips_projections; /* olmoe */
    bool turns_heads;       /* granitemoehybrid: position_embedding_type is rope */
    bool has_dtype;
    bool is_fp8;                  /* the file has it in its place */
    ms_dtype dtype;               /* "torch_dtype" or "dtype" in the file, when has_dtype */
    ms_quantization quantization; /* quantization_config of the file */
} ms_model_config;

typedef enum ms_key_kind {
    MS_KEY_COUNT,    /* positive exact integer, uint64_t member */
    MS_KEY_OPTIONAL, /* integer or null: `null_kind` defines what null means */
    MS_KEY_BOOL,
    MS_KEY_FRACTION,    /* number in [0, 1], double member; null only where null_kind says so */
    MS_KEY_SIDES,       /* a count or two: height and width; uint64_t[2] member */
    MS_KEY_ACTIVATION,  /* name, ms_activation member */
    MS_KEY_IS_SET,      /* a number, whatever it is, or null; bool member: whether it is one */
    MS_KEY_CHOICE,      /* one of two names, bool member: the second */
    MS_KEY_FIXED_BOOL,  /* a bool that must have the default value (as null does): the other is not
                           modelled */
    MS_KEY_LAYER_TYPES, /* list of "full_attention" and "sliding_attention", or of what `choices`
                           name in its place, one per layer; read with the rules that span keys */
    MS_KEY_ATTENTION_LAYERS, /* list of the layers, by number, that have attention; the others mix
                                by something else; layer_types says more */
    MS_KEY_ROTARY_LAYERS,    /* list of 1 and 0, one per layer at least: 0 where nothing turns */
    MS_KEY_ROPE,         /* an object or null; of it only matters whether its type is "longrope" */
    MS_KEY_DENSE_LAYERS, /* list of the layers, by number, that are not sparse; read with the rules
                          */
    MS_KEY_LENGTH,       /* list, uint64_t member: how many it has */
    MS_KEY_IGNORED       /* known, has no effect on memory */
} ms_key_kind;

/* What an absent key means; and, for MS_KEY_OPTIONAL, what null means. */
typedef enum ms_default_kind {
    MS_DEFAULT_VALUE,      /* default_value, or null_value */
    MS_DEFAULT_SAME_AS,    /* the member at default_offset (already read) */
    MS_DEFAULT_HEAD_DIM,   /* hidden_size / num_heads, which must divide */
    MS_DEFAULT_FOUR_HIDDEN /* 4 * hidden_size */
} ms_default_kind;

/* One key of one family's config.json. */
typedef struct ms_key {
    const char *name;
    /* other spellings of the same key, "/a/b" for one inside an object; the first present wins */
    const char *aliases[3];
    ms_key_kind kind;
    size_t offset; /* of the member in ms_model_config */
    ms_default_kind default_kind;
    double default_value; /* counts and booleans are exact in a double */
    size_t default_offset;
    uint64_t minimum, maximum;
    ms_default_kind null_kind; /* MS_KEY_OPTIONAL */
    uint64_t null_value;
    const char *choices[2]; /* MS_KEY_CHOICE; MS_KEY_LAYER_TYPES: the type of layers that mix, of
                               layers that slide */
    bool required;          /* the class has no default that can be modelled */
    bool may_be_text;       /* MS_KEY_OPTIONAL: a text counts as null */
    bool learned;           /* rows of a learned position table: no sequence is longer */
} ms_key;

/* Keys of an object in the file. */
typedef struct ms_key_table {
    const char *object;     /* NULL: the file itself */
    const char *model_type; /* what the object's must be, if it has one; NULL: any */
    const ms_key *keys;
    size_t key_count;
} ms_key_table;

struct ms_tape; /* the program's argument; see model/blocks/model.h */

/* A model family: names, keys with their defaults, and the program that runs it. */
typedef struct ms_family {
    const char *model_type; /* "llama" */
    /* What `architectures` may name; the first is what a file without it has. */
    ms_model_class classes[MS_FAMILY_CLASSES];
    const ms_key *keys;
    size_t key_count;
    /* Where files nest: the object that holds `keys`, with its model_type; NULL: the file itself.
     * Then what else is read. */
    const char *object, *object_type;
    const ms_key_table *more;
    size_t more_count;
    /* Fills in what follows from several keys, before any check; fails as `check`; may be NULL. */
    ms_status (*derive)(ms_model_config *config, ms_error *err);
    /* Checks that span keys (heads divide, and so on); may be NULL. `pointer` of the failing key is
     * set through err->pointer as "/key". */
    ms_status (*check)(const ms_model_config *config, ms_error *err);
    /* MS_LAYER_ flags of a layer where the file lists no layer_types; NULL: all are alike, and
     * slide where there is a window. */
    uint8_t (*layer_kind)(const ms_model_config *config, uint64_t layer);
    /* The logits are scaled outside of the head: code that replaces head and loss would not know.
     */
    bool scales_logits;
    /* The framework's class takes no fused attention. */
    bool eager_only;
    /* Sliding switched off is a window of 0 tokens, whose mask is made all the same. */
    bool has_zero_window;
    bool has_sinks; /* that attention sees a sink for each head */
    bool grouped_experts_only;
    /* Its layers have no module of their own for the MLP, which tiles could wrap. */
    bool has_no_mlp_module;
    /* Its attention gets a mask even where causality alone would do. */
    bool always_masks;
    /* Its attention cuts heads by the rotary share itself, not by the width of the tables. */
    bool cuts_by_share;
    /* Every token sees all others: neither a mask nor causality. */
    bool is_bidirectional;
    /* Its forward takes a cache of the keys and values of earlier tokens. */
    bool takes_cache;
    const struct ms_model_program *program;
} ms_family;

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

static inline bool ms_layer_is_token_mixer(const ms_model_config *config, uint64_t layer)
{
    return ms_layer_kind(config, layer) & MS_LAYER_TOKEN_MIXER;
}

/* The share of each head's elements that the rotary embedding is to turn. */
static inline uint64_t ms_rotary_share(const ms_model_config *config)
{
    bool all = config->rotary_share <= 0;
    return all ? config->head_dim : (uint64_t)((double)config->head_dim * config->rotary_share);
}

/* How many it turns: its tables have whole pairs of columns, and heads are cut by their width. */
static inline uint64_t ms_rotary_dim(const ms_model_config *config)
{
    uint64_t share = ms_rotary_share(config);
    return share + share % 2;
}

/* Families to look a model type up in, in the order they are listed. */
typedef struct ms_family_list {
    const ms_family *const *items;
    size_t count;
} ms_family_list;

#endif
