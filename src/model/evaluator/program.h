/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A family's text, ready to run: names were found, so that nothing is looked up by its name any
 * more. It belongs to the arena that it was read into, and does not change.
 */
#ifndef MS_MODEL_EVALUATOR_PROGRAM_H
#define MS_MODEL_EVALUATOR_PROGRAM_H

#include "input/config/model/family.h"
#include "model/evaluator/syntax/syntax.h"

/* A dimension that memscope has a symbol for; others are written with the key's name. */
typedef enum ms_family_dim {
    MS_FAMILY_DIM_OWN,
    MS_FAMILY_DIM_HIDDEN,
    MS_FAMILY_DIM_INTERMEDIATE,
    MS_FAMILY_DIM_VOCAB,
    MS_FAMILY_DIM_HEADS,
    MS_FAMILY_DIM_KV_HEADS,
    MS_FAMILY_DIM_HEAD,
    MS_FAMILY_DIM_POSITIONS,
    MS_FAMILY_DIM_EXPERTS,
    MS_FAMILY_DIM_CHOSEN, /* experts of a token */
    MS_FAMILY_DIM_EXPERT,
    MS_FAMILY_DIM_SHARED,
    MS_FAMILY_DIM_EMBEDDING,
    MS_FAMILY_DIM_TABLE,
    MS_FAMILY_DIM_TYPES,
    MS_FAMILY_DIM_LABELS,
    MS_FAMILY_DIM_ROTARY,    /* or 0 */
    MS_FAMILY_DIM_PLAIN_KEY, /* these: of latent attention */
    MS_FAMILY_DIM_VALUE,
    MS_FAMILY_DIM_LATENT,
    MS_FAMILY_DIM_QUERY_RANK, /* or 0 */
    MS_FAMILY_DIM_INDEX_HEADS,
    MS_FAMILY_DIM_INDEX,
    MS_FAMILY_DIM_TOKENS, /* of a sequence */
    MS_FAMILY_DIM_SOURCE, /* of an encoder's, beside a decoder's */
    MS_FAMILY_DIM_NAMED,  /* by the key's `symbol` */
    MS_FAMILY_DIM_NUMBER  /* without a symbol */
} ms_family_dim;

/* What the head reads, as wide as the word embeddings. */
uint64_t ms_family_head_width(const ms_model_config *config);

/* A key of the config, by its name in the text. */
typedef struct ms_family_key {
    const char *name;
    ms_key row;
    ms_family_dim dim;
    const char *symbol;  /* MS_FAMILY_DIM_NAMED, and of a key of the text's own; NULL: its name */
    bool is_second;      /* of two that one key of the file has: no row of its own */
    uint8_t object;      /* where it is: of ms_family_text.objects */
    ms_text_node *value; /* of derived(...); NULL: what the file has, or derive() sets */
} ms_family_key;

/* What a text can ask of a layer or of the run. */
typedef enum ms_family_fact {
    MS_FACT_SLIDES, /* these: of a layer */
    MS_FACT_IS_SPARSE,
    MS_FACT_ROTATES,
    MS_FACT_SPARSE_GATE,
    MS_FACT_READS_KEYS,
    MS_FACT_STORES_KEYS,
    MS_FACT_DECODES,
    MS_FACT_ATTENDS,
    MS_FACT_IS_MARKED, /* a tower's, that the config lists */
    MS_FACT_IS_FEED_FORWARD,
    MS_FACT_NUMBER,
    MS_FACT_TRAINING, /* of any module */
    MS_FACT_ANY_SLIDES,
    MS_FACT_ANY_FULL,
    MS_FACT_ANY_SCANS,
    MS_FACT_IS_TIED,
    MS_FACT_LIGER_SWIGLU,
    MS_FACT_FIRST_STAGE,
    MS_FACT_LAST_STAGE,
    MS_FACT_HAS_IMAGES,     /* the run has some */
    MS_FACT_SEES_AHEAD,     /* tokens of an image see each other */
    MS_FACT_MARKED_BLOCKS,  /* how many of a tower's are */
    MS_FACT_PREDICTS_WORDS, /* these: of the class that the config names */
    MS_FACT_OF_SEQUENCE,
    MS_FACT_OF_TOKENS,
    MS_FACT_IS_PRETRAINING
} ms_family_fact;

/* What a with statement does: `index` of its value. */
typedef enum ms_text_with { MS_WITH_NO_GRAD, MS_WITH_NO_AUTOCAST } ms_text_with;

/* What can be asked of a value: MS_NODE_ATTRIBUTE. */
typedef enum ms_text_attribute {
    MS_ATTRIBUTE_SHAPE,
    MS_ATTRIBUTE_TYPE,
    MS_ATTRIBUTE_DEVICE,
    MS_ATTRIBUTE_RANK,
    MS_ATTRIBUTE_OF_TORCH, /* a type: `number` */
    MS_ATTRIBUTE_MEMBER    /* a field of a module, by its name */
} ms_text_attribute;

/* What calls of a class's modules are beside calls. */
typedef enum ms_family_role {
    MS_ROLE_NONE,
    MS_ROLE_LAYER,        /* run under the layer's treatment */
    MS_ROLE_MIXER,        /* attention, or what is in its place: reads all tokens */
    MS_ROLE_FEED_FORWARD, /* the MLP: the same, and may run in tiles or under a checkpoint */
    MS_ROLE_TOWER_LAYER   /* of a vision tower: run under a checkpoint if the tower's layers are */
} ms_family_role;

typedef struct ms_family_field {
    const char *name;
    ms_text_node *value; /* resolved: MS_NODE_PRIMITIVE, _CLASS, _COMPREHENSION, _CHOICE or _NONE */
} ms_family_field;

typedef struct ms_family_function {
    const char *name;
    const ms_text_statement *text;
    const struct ms_family_class *owner; /* where it stands */
    bool is_plain; /* none that a module's call runs: its arguments are names of its own */
    uint32_t parameter_count; /* without self */
    const char *parameters[MS_FAMILY_NAMES];
    bool has_default[MS_FAMILY_NAMES];
    /* The first parameter has slot 0. Others are the caller's: 0, unless they are bound anew. */
    uint8_t slots[MS_FAMILY_NAMES];
    uint32_t slot_count, results;
    const struct ms_error *failure; /* why it cannot be called; NULL: it can */
    bool is_resolved, is_called;
} ms_family_function;

/* The most elements of one side of a weight: products of three fit 64 bits. */
#define MS_FAMILY_MOST_SIZE (16777216.0 * 4)

enum {
    MS_FAMILY_SLOTS = 36, /* local names of a function */
    MS_FAMILY_FUNCTIONS = 24,
    MS_FAMILY_FIELDS = 64,
    MS_FAMILY_KEYS = 96,
    MS_FAMILY_DERIVED = 8,
    MS_LAYER_RULES = 6,
    MS_FAMILY_CLASSES_OF_TEXT = 64
};

typedef struct ms_family_class {
    const char *name;
    const ms_text_node *place; /* of its name; NULL: it has none */
    ms_family_role role;
    uint32_t field_count, function_count;
    uint32_t size;                 /* modules that one has, itself and all below, a list's once */
    bool is_measured, is_open;     /* while it is found */
    bool is_base;                  /* another class is like it */
    bool is_group;                 /* its own operators count as its caller's */
    bool is_tower;                 /* not trained where the run's images freeze it */
    bool is_numbered;              /* [First(), Second()]: its fields are called by numbers */
    ms_family_field *fields;       /* MS_FAMILY_FIELDS */
    ms_family_function *functions; /* MS_FAMILY_FUNCTIONS */
    const ms_family_function *forward, *stage, *encode, *init_weights; /* of these; NULL: none */
} ms_family_class;

/* Objects of the file with keys: those of the text model, which are the file's own without a class
 * text_config; the file's own beside it; then others by their names. */
enum { MS_OBJECT_OF_TEXT, MS_OBJECT_OF_FILE, MS_OBJECT_OTHER, MS_FAMILY_OBJECTS = 4 };

typedef struct ms_family_object {
    const char *name;       /* NULL: the file itself, or none */
    const char *model_type; /* that it has, if it has one; NULL: any */
} ms_family_object;

typedef struct ms_family_text ms_family_text;

struct ms_family_text {
    ms_arena *arena;
    /* Its fields: the model and its head; or, if it has a function `forward`, all of the class. */
    ms_family_class root;
    ms_family_class functions; /* those of no class */
    ms_family_class *classes[MS_FAMILY_CLASSES_OF_TEXT];
    uint32_t class_count;
    ms_family_key keys[MS_FAMILY_KEYS];
    uint32_t key_count;
    ms_family_key derived[MS_FAMILY_DERIVED]; /* no file has them: derived(...), derive() */
    uint32_t derived_count;
    ms_family_object objects[MS_FAMILY_OBJECTS];
    const char *model_type, *like; /* like: the first family that is imported, or NULL */
    const ms_text_node *known_as;  /* the family whose facts of other programs hold; NULL: none */
    /* A user's file changes modules; and so that they are of other blocks: it has a function, or a
     * field that is new or of another kind. */
    bool changes_modules, changes_blocks;
    ms_model_class architectures[MS_FAMILY_CLASSES];
    const ms_family_function *rules[MS_LAYER_RULES]; /* of layers, of the config; NULL: none */
    ms_text_block checks;                            /* assert statements of the config */
    ms_text_block derive;                            /* of its derive(), before the checks */
    ms_text_block facts;                             /* classes of them: facts.h */
    uint32_t own_keys;                      /* of ms_model_config's `own`, that are taken */
    const ms_text_node *table;              /* what made the embedding that the head names */
    bool has_decoder;                       /* behind an encoder, with layers of its own */
    bool uses_numbers;                      /* conditions on the numbers of layers */
    bool softmax_uncast;                    /* the same; its output is made contiguous */
    bool softmax_as_input;                  /* of eager attention; else in fp32 */
    bool multiplies_logits, divides_logits; /* by a number of the config */
    bool widens_logits;                     /* they are made fp32 */
    bool casts_for_head;                    /* its input gets the type of the embedding */
    bool balances_experts;                  /* routers have an auxiliary loss */
    uint32_t model_field, head_field;       /* of the root */
};

/* The function of that name; NULL: none. */
ms_family_function *ms_class_find(const ms_family_class *klass, const char *name);

/* Reads texts by name: those that are imported. False: there is none such, or it cannot be read
 * (recorded). */
typedef struct ms_family_library {
    bool (*find)(const struct ms_family_library *library, ms_family_reading *reading,
                 const char *name, ms_family_file *file);
    const void *own;
} ms_family_library;

/* Parses a text with what it imports, and finds its names; NULL after a failure. */
ms_family_text *ms_family_text_read(ms_family_reading *reading, const ms_family_file *file,
                                    const ms_family_library *library);

/* Makes the node one of what memscope knows, by its name; false: there is none such. */
bool ms_take_fact(ms_text_node *node, const char *name, bool of_layer);

/* A rule of layers, `def slides(layer)`, and the flag of a layer for which it is true, or, with
 * `lacks`, for which it is not. */
typedef struct ms_layer_rule {
    const char *name;
    uint8_t flag;
    bool lacks;
} ms_layer_rule;

extern const ms_layer_rule ms_layer_rules[MS_LAYER_RULES]; /* check.c */

/* What numbers of a text depend on. */
typedef struct ms_text_facts {
    const ms_model_config *config;
    uint32_t layer, looped; /* of self, and of the module that a loop has arrived at */
    uint32_t place;         /* of self in its list, where that is of no layers */
    uint32_t looped_place;  /* the same of the module that a loop has arrived at */
    bool liger_swiglu, is_first_stage, is_last_stage, is_evaluating, has_images;
} ms_text_facts;

/* What an operator makes of two numbers; 0 where it divides by 0. */
double ms_numbers_operate(ms_node_kind kind, double a, double b);
/* How many modules a list has: of a range of numbers of the config. */
uint64_t ms_family_range_count(const ms_text_facts *facts, const ms_text_node *list);
/* A number: of counts, truths and fractions of the config, and of facts. */
double ms_family_number(const ms_text_facts *facts, const ms_text_node *node);
/* Whether a field has a list of layers, which have numbers in the model. */
bool ms_family_lists_layers(const ms_text_node *value);
/* How many modules a field's list has: layers, of an encoder, of its decoder, all, or a
 * tower's. *first: the number in the model of the first layer. */
uint32_t ms_family_list_count(const ms_model_config *config, const ms_text_node *list,
                              uint32_t *first);
bool ms_family_truth(const ms_text_facts *facts, const ms_text_node *node);

#endif
