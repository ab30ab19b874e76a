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

#include "base/arena.h"
#include "base/error.h"
#include "input/config/quantize/quantize.h"
#include "input/config/model/vision_config.h"
#include "core/tensor/dtype.h"

/* The head of a model; it determines the loss and the labels. */
typedef enum ms_head_kind {
    MS_HEAD_CAUSAL_LM,   /* the next token's logits */
    MS_HEAD_LAST_TOKEN,  /* classes of a sequence, from its last token that is not padding */
    MS_HEAD_FIRST_TOKEN, /* classes of a sequence or an image, from its first token */
    MS_HEAD_EACH_TOKEN,  /* classes of every token */
    MS_HEAD_MASKED_LM,   /* logits of every token */
    MS_HEAD_PRETRAINING, /* the same, and whether the second sentence follows the first */
    MS_HEAD_TARGET_LM    /* logits of every token of a target, whose labels are their own tensor */
} ms_head_kind;

/* One class of a family, as `architectures` names it. */
typedef struct ms_model_class {
    const char *name; /* NULL: the end of the table */
    ms_head_kind head;
} ms_model_class;

enum { MS_FAMILY_CLASSES = 6, MS_OWN_KEYS = 16 };

struct ms_family;

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
typedef struct ms_model_config {
    const struct ms_family *family;
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
    uint64_t last_sparse_layer;  /* ernie4_5_moe: layers behind this one are dense */
    uint64_t expert_groups, chosen_groups; /* deepseek: groups of experts; how many are selected */
    /* qwen3_next: heads of linear attention and their widths; kernel width of its convolution, or
     * lfm2's; every N-th layer has full attention */
    uint64_t linear_key_heads, linear_value_heads, linear_key_dim, linear_value_dim;
    uint64_t convolution_width, attention_interval;
    bool convolution_bias; /* lfm2, mamba */
    /* mamba, mamba2: width of the inner states = hidden_size * expansion; elements of a channel's
     * state. mamba: rank of the step's projection, 0: hidden_size / 16, rounded up. mamba2: heads,
     * their width, groups of heads that share a projection, tokens of a chunk */
    uint64_t expansion, state_size, step_rank;
    uint64_t scan_heads, scan_head_dim, state_groups, scan_chunk;
    bool residual_in_fp32;         /* mamba, mamba2 */
    bool scan_bias;                /* mamba2, nemotron_h: of a mixer's projections */
    ms_activation scan_activation; /* mamba2, nemotron_h: behind a mixer's convolution */
    uint64_t expert_latent;        /* nemotron_h: width of what experts read; 0: hidden_size */
    /* lfm2: width of the MLP = intermediate_size * 2/3 * share, rounded up to a multiple of the
     * step */
    bool adjusts_intermediate;
    uint64_t intermediate_step;
    double intermediate_share;
    uint64_t prediction_layers; /* deepseek: multi-token prediction layers, not part of the class */
    bool limits_groups;         /* deepseek_v2 */
    bool pairs_neighbours;      /* rotary embeddings rotate neighbouring elements, not halves */
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
    double activation_dropout;           /* whisper: behind an MLP's activation */
    uint64_t bias_buckets;               /* t5: rows of the table of relative positions */
    bool gates_mlp;                      /* t5: feed_forward_proj */
    uint64_t sentence_types;             /* bert: rows of the table of token types */
    double classifier_dropout;           /* bert: dropout before a classifier's head */
    double layer_drop, decoder_layer_drop; /* opt, whisper: share of skipped layers; must be 0 */
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
    bool tunes_temperature; /* llama4: layers without rotary embeddings scale their queries */
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
} ms_model_config;

typedef enum ms_key_kind {
    MS_KEY_COUNT,    /* positive exact integer, uint64_t member */
    MS_KEY_OPTIONAL, /* integer or null: `null_kind` defines what null means */
    MS_KEY_BOOL,
    MS_KEY_INTEGER,     /* from -maximum to maximum, int64_t member */
    MS_KEY_FRACTION,    /* number in [0, 1], double member; null only where null_kind says so */
    MS_KEY_SIDES,       /* a count or two: height and width; uint64_t[2] member */
    MS_KEY_ACTIVATION,  /* name, ms_activation member */
    MS_KEY_IS_SET,      /* a number or null; bool member: whether it is a number */
    MS_KEY_CHOICE,      /* one of two names; bool member: true for the second */
    MS_KEY_FIXED_BOOL,  /* a bool (or null) that must have the default value; the other is
                           unsupported */
    MS_KEY_LAYER_TYPES, /* list of "full_attention" and "sliding_attention", or of the names in
                           `choices`, one per layer; read with the rules that span keys */
    MS_KEY_ATTENTION_LAYERS, /* list of layer numbers with attention; the others have another token
                                mixer; layer_types takes precedence */
    MS_KEY_ROTARY_LAYERS,    /* list of 1 and 0, at least one per layer: 0 for layers without rotary
                                embeddings */
    MS_KEY_LAYER_PATTERN,    /* list of a layer's kind each, or a letter for each: M, *, - or E;
                                uint64_t member: the number of layers. Read with the rules */
    MS_KEY_MLP_TYPES,        /* list of "sparse" and "dense", one per layer; read with the rules */
    MS_KEY_ROPE,             /* an object or null; only whether its type is "longrope" matters */
    MS_KEY_DENSE_LAYERS,     /* list of layer numbers that are not sparse; read with the rules */
    MS_KEY_SPARSE_LAYERS,    /* list of layer numbers that are sparse; the others are not */
    MS_KEY_SPARSE_GATES,     /* list of numbers, 0 for layers whose gates are not sparse */
    MS_KEY_NUMBERS,          /* list of numbers; uint64_t[] member: a bit for each, up to the
                                maximum; default_value: the first 64 bits */
    MS_KEY_IGNORED           /* no effect on memory */
} ms_key_kind;

/* The value of an absent key; for MS_KEY_OPTIONAL, also that of null. */
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
    const char *choices[2]; /* MS_KEY_CHOICE; MS_KEY_LAYER_TYPES: names for token-mixer and sliding
                               layers */
    bool required;          /* the class has no supported default */
    bool may_be_text;       /* MS_KEY_OPTIONAL: a string counts as null */
    bool may_be_empty;      /* MS_KEY_ROTARY_LAYERS: an empty list counts as null */
    bool may_be_minus_one;  /* MS_KEY_COUNT: -1 is UINT64_MAX */
    bool may_be_null;       /* MS_KEY_CHOICE: null counts as absent */
    size_t given_offset;    /* MS_KEY_CHOICE: a bool member, whether it is not null; 0: none */
    bool is_other_spelling; /* MS_KEY_LAYER_PATTERN: what another row has more of */
    bool may_be_list;       /* MS_KEY_COUNT: or a list, once per layer, which are read before */
    bool learned;           /* rows of a learned position table, which limits the sequence length */
} ms_key;

/* Keys of an object in the file. */
typedef struct ms_key_table {
    const char *object;     /* NULL: the file itself */
    const char *model_type; /* required "model_type" of the object, if it has one; NULL: any */
    const ms_key *keys;
    size_t key_count;
} ms_key_table;

struct ms_tape; /* the program's argument; see model/blocks/model.h */

/* A model family: names, keys with their defaults, and the program that runs it. */
typedef struct ms_family {
    const char *model_type; /* "llama" */
    /* Classes that `architectures` may name; the first is the default. */
    ms_model_class classes[MS_FAMILY_CLASSES];
    const ms_key *keys;
    size_t key_count;
    /* The object of the file that contains `keys`, with its model_type; NULL: the file itself.
     * `more`: further tables. */
    const char *object, *object_type;
    bool may_be_flat; /* files without that object have its keys beside their own */
    const ms_key_table *more;
    size_t more_count;
    /* The file may lack these objects, or have null: their members stay 0. Their first key is a
     * count. */
    bool may_lack_more;
    /* Derives values from several keys, before any check; fails as `check` does; may be NULL. */
    ms_status (*derive)(ms_model_config *config, ms_error *err);
    /* Checks that span keys (heads divide, and so on); may be NULL. `pointer` of the failing key is
     * set through err->pointer as "/key". */
    ms_status (*check)(const ms_model_config *config, ms_error *err);
    /* MS_LAYER_ flags of a layer if the file has no layer_types; NULL: all layers are alike, and
     * slide if there is a window. */
    uint8_t (*layer_kind)(const ms_model_config *config, uint64_t layer);
    /* What becomes of an image of that width and height in pixels; without them (0) of one of the
     * size the model has, where it has one. Fails with a sentence. NULL: images are not predicted.
     */
    ms_status (*place_image)(const ms_model_config *config, const uint64_t sides[2],
                             ms_image_grid *grid, ms_error *err);
    ms_image_input image_input; /* of images, if they are predicted */
    /* The logits are scaled outside the head, so code that replaces head and loss would miss it. */
    bool scales_logits;
    /* The framework's class does not support fused attention. */
    bool eager_only;
    /* Disabled sliding is a window of 0 tokens, whose mask is created nevertheless. */
    bool has_zero_window;
    uint32_t unpredicted; /* see input/config/model/unpredicted.h */
    /* No layer has attention. */
    bool has_no_attention;
    /* The class has no argument for positions, so that generate() makes none. */
    bool takes_no_positions;
    /* Heads are not rotated, whatever their width. */
    bool has_no_rotary;
    bool has_sinks; /* attention has a sink per head */
    /* Layers with rotary embeddings attend to the tokens of their chunk, of `sliding_window`
     * tokens. */
    bool has_chunks;
    bool grouped_experts_only;
    /* Experts are products of batches in every pass, and not only where generate() decodes. */
    bool batched_experts_only;
    /* Its routers are linear layers with two results, so that packed ones cannot take their place.
     */
    bool has_linear_router;
    /* Layers have no separate MLP module that tiles could wrap. */
    bool has_no_mlp_module;
    /* A layer is one module, "mixer": attention, a scan, an MLP or experts. */
    bool has_lone_mixers;
    /* Attention gets a mask even if it is only causal. */
    bool always_masks;
    /* Attention splits heads by the rotary share, not by the width of the tables. */
    bool cuts_by_share;
    /* Attention is bidirectional: neither causal nor masked. */
    bool is_bidirectional;
    /* Its forward takes a cache of the keys and values of earlier tokens. */
    bool takes_cache;
    /* The last layer does not slide, whatever the file says. */
    bool ends_unlimited;
    /* It reads from the cache how many tokens were seen: a static one has that on the device. */
    bool counts_seen;
    const struct ms_model_program *program;
    const struct ms_family_facts *facts; /* of other libraries; NULL: see family_facts.h */
    const char *user_text; /* the file of a user's own family; NULL: it is one of memscope's */
    /* How stages of a pipeline run it (model/decoder/decoder_stage.h); NULL: as a rotary decoder.
     */
    const struct ms_stage_program *stages;
    /* The name of the text that has its keys and its program, which ms_family_list's `read` adds;
     * NULL: they are here. */
    const char *text_name;
    const struct ms_family_text *text; /* that text, once it was read; else NULL */
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

/* The families, in the order they are listed. */
typedef struct ms_family_list {
    const ms_family *const *items;
    size_t count;
    /* Reads the text of a family that has one, and adds what it has: a new family in the arena, or
     * NULL after a failure. */
    const ms_family *(*read)(ms_arena *arena, const ms_family *family, ms_error *err);
    /* A family of a model type that none of the list has, from the user's folder of families; NULL:
     * there is none, or it cannot be read (recorded). */
    const ms_family *(*find)(ms_arena *arena, const struct ms_family_list *list,
                             const char *model_type, ms_error *err);
    /* A list with the family of that file before the others; NULL after a failure. */
    const struct ms_family_list *(*with)(ms_arena *arena, const struct ms_family_list *list,
                                         const char *path, ms_error *err);
    /* A list that looks in that folder too; NULL after a failure. */
    const struct ms_family_list *(*in)(ms_arena *arena, const struct ms_family_list *list,
                                       const char *folder, ms_error *err);
    const char *folder; /* of families of the user's own; NULL: none */
} ms_family_list;

#endif
