/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model family: the names of its classes, the keys of its config.json with their defaults, and
 * the program that runs it. The values of the keys are in ms_model_config (model_config.h).
 */
#ifndef MS_INPUT_CONFIG_MODEL_FAMILY_H
#define MS_INPUT_CONFIG_MODEL_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "input/config/model/vision_config.h"

typedef struct ms_model_config ms_model_config; /* input/config/model/model_config.h */

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

enum { MS_FAMILY_CLASSES = 6 };

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

struct ms_model;

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
    /* How stages of a pipeline run it (model/decoder/decoder_stage.h); NULL: they do not. */
    const struct ms_stage_program *stages;
    /* The name of the text that has its keys and its program, which ms_family_list's `read` adds;
     * NULL: they are here. */
    const char *text_name;
    const struct ms_family_text *text; /* that text, once it was read; else NULL */
} ms_family;

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

/* ---- unpredicted ---- */

/* Settings of a run that are not predicted for a family, in ms_family.unpredicted;
 * resolve_family.c says so in sentences. */

enum {
    MS_UNPREDICTED_HOST_PARAMETERS = 1 << 0,
    MS_UNPREDICTED_PACKED = 1 << 1, /* a quantised base */
    MS_UNPREDICTED_REENTRANT = 1 << 2,
    MS_UNPREDICTED_F16 = 1 << 3,
    MS_UNPREDICTED_FSDP1 = 1 << 4,  /* some parameters are never trained, and share flat ones */
    MS_UNPREDICTED_SHARDS = 1 << 5, /* FSDP and ZeRO: a layer's parameters have several types */
    MS_UNPREDICTED_RANKS = 1 << 6,  /* several GPUs */
    MS_UNPREDICTED_IMAGES_ON_RANKS = 1 << 7, /* see resolve_images.c */
    MS_UNPREDICTED_OTHER_PACKED = 1 << 8,    /* a quantised base that is not bitsandbytes's */
    MS_UNPREDICTED_F16_STEPS = 1 << 9,       /* of training; inference is predicted */
    MS_UNPREDICTED_PADDING = 1 << 10,        /* a batch with an attention mask */
    MS_UNPREDICTED_DOCUMENTS = 1 << 11       /* rows whose documents positions tell apart */
};

#endif
