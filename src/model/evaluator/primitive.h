/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The functions that a text may call, and the modules that it may make: a row each.
 */
#ifndef MS_MODEL_EVALUATOR_PRIMITIVE_H
#define MS_MODEL_EVALUATOR_PRIMITIVE_H

#include "model/blocks/blocks.h"
#include "model/evaluator/program.h"
#include "model/evaluator/value.h"

typedef struct ms_object ms_object;
typedef struct ms_family_part ms_family_part;

enum { MS_TUPLE_MOST = 4 };

/* A field of a module that was built. */
struct ms_family_part {
    const ms_text_node *maker; /* what made it; NULL: None */
    ms_model *model;
    uint32_t scope, count; /* count: of `objects` */
    uint32_t first;        /* of a list of layers: the number of its first one */
    uint64_t width;        /* of what a linear layer or a norm reads */
    bool is_list;
    ms_object *objects;
    ms_family_part *parts; /* of a list of what rows make */
    ms_linear_module linear;
    ms_norm_module norm;
    ms_tensor tensors[5];
    void *own; /* of a constructor, in the arena */
};

/* A module of a class of the text. */
struct ms_object {
    const ms_family_class *klass;
    uint32_t scope, number;   /* number: of its layer, MS_NONE: none */
    uint32_t place;           /* in the list that it, or what it is in, stands in */
    bool is_of_tower;         /* one whose images are seen */
    uint32_t first_parameter; /* where its next own one goes: before those of modules in it */
    ms_family_part *parts;
    /* Arguments of a layer's last call, the caller's, for calls again: one may be a tuple of
     * tensors, whose contents are here. */
    ms_value given[MS_FAMILY_NAMES];
    struct {
        uint8_t place, count; /* count 0: none is */
        ms_tensor items[MS_TUPLE_MOST];
    } tuple;
    ms_shape shape;   /* of what as_tokens() got last */
    ms_tensor second; /* of an MLP that returns two values, retained; 0: none */
};

_Static_assert((int)MS_FAMILY_SLOTS + 4 <= (int)MS_LOCALS_SLOTS, "functions of memscope add some");

/* A call of a function of the text. */
typedef struct ms_frame {
    ms_model *model;
    ms_object *self;
    ms_object *looped; /* the module that a loop has arrived at */
    ms_locals locals;
    ms_value others[MS_FAMILY_SLOTS]; /* of slots that have no tensor; else MS_VALUE_NONE */
    ms_value given[MS_FAMILY_NAMES];  /* arguments that are the caller's */
} ms_frame;

typedef struct ms_results {
    uint32_t count;
    ms_tensor items[MS_FAMILY_NAMES];
} ms_results;

/* A part that is being made. */
typedef struct ms_making {
    ms_model *model;
    ms_object *self, *root;
    uint32_t scope; /* of self */
    const char *name;
    const ms_text_node *call;
    ms_family_part *part;
} ms_making;

enum { MS_RESULTS_WANTED = 255 };

/* What shapes its arguments must have: checks.c. */
typedef enum ms_shape_rule {
    MS_SHAPE_ANY, /* the first argument is a tensor */
    MS_SHAPE_POSITIONS,
    MS_SHAPE_MASK,
    MS_SHAPE_VIEW_HEADS,
    MS_SHAPE_SPLIT_HEADS,
    MS_SHAPE_MERGE_HEADS,
    MS_SHAPE_ROTATE,
    MS_SHAPE_SCALE,
    MS_SHAPE_CACHE,
    MS_SHAPE_ATTENTION,
    MS_SHAPE_GATE,
    MS_SHAPE_SPLIT,
    MS_SHAPE_SLICE,
    MS_SHAPE_TRANSPOSE,
    MS_SHAPE_MEAN,
    MS_SHAPE_LOGITS,
    MS_SHAPE_LINEAR, /* these: of modules */
    MS_SHAPE_NORM,
    MS_SHAPE_ROWS,
    MS_SHAPE_TABLES,
    MS_SHAPE_PARAMETER,
    MS_SHAPE_HEAD
} ms_shape_rule;

typedef struct ms_primitive {
    const char *name;
    /* Names of its parameters with blanks between; a type for each: t tensor, d dimension, n
     * number, l local that it binds anew, p path, f call of a function of the text. Those behind |
     * may be left out. */
    const char *parameters, *types;
    ms_shape_rule shape;
    /* In its place, as ms_check_function and ms_check_part; `maker`: what made the module, or the
     * call itself. NULL: the rule. */
    bool (*fits)(ms_frame *frame, const ms_text_node *node, const ms_text_node *maker,
                 const ms_tensor *args);
    uint8_t results; /* MS_RESULTS_WANTED: as many as are bound */
    /* A function: results->count is the number that is bound. */
    void (*run)(ms_frame *frame, const ms_text_node *call, const ms_tensor *args,
                ms_results *results);
    /* A function of values (types v), which yields one; those that float are let go of later. */
    ms_value (*apply)(ms_frame *frame, const ms_text_node *call, const ms_value *args);
    /* A module: how it is made, and what its call does, with so many tensors. */
    void (*make)(const ms_making *making);
    void (*call)(ms_frame *frame, ms_family_part *part, const ms_tensor *args, ms_results *results);
    const char *call_types; /* t each, as above */
} ms_primitive;

/* A function of values, and its row. */
#define MS_OPERATION(name)                                                                         \
    static ms_value name(ms_frame *f, const ms_text_node *call, const ms_value *a)
#define MS_OPERATION_ROW(name_, parameters_, types_, apply_)                                       \
    {                                                                                              \
        .name = name_, .parameters = parameters_, .types = types_, .results = 1, .apply = apply_   \
    }

/* NULL: none of that name. `is_module`: one that can be made. */
const ms_primitive *ms_primitive_find(const char *name, bool is_module);
/* The i-th of all, for suggestions; NULL past the last. */
const ms_primitive *ms_primitive_at(uint32_t i);

/* Rows by subject, a list each: those of memscope (functions.c), of encoders and their heads, of
 * mixtures, of encoders with decoders, of convolutions, of layers without attention, of towers, of
 * images; PyTorch's views, operations and functions that make tensors; Python's own. */
typedef struct ms_primitive_list {
    const ms_primitive *rows;
    uint32_t count;
} ms_primitive_list;

extern const ms_primitive_list ms_function_rows, ms_head_rows, ms_mixture_rows, ms_view_rows,
    ms_operation_rows, ms_creation_rows, ms_builtin_rows, ms_translation_rows, ms_convolution_rows,
    ms_recurrent_rows, ms_image_rows, ms_picture_rows;

/* arguments.c: what a function of values is given. The node of its i-th argument, or the call. */
const ms_text_node *ms_given(const ms_text_node *call, uint32_t i);
const ms_shape *ms_given_shape(ms_frame *frame, ms_value tensor);
bool ms_given_true(ms_value value);
/* Whether the first argument is a tensor; whether a number is a dimension of `rank`, which may be
 * counted from behind, or of x's, the last one. False: a failure is recorded. */
bool ms_given_tensor(ms_frame *frame, const ms_text_node *call, ms_value value);
bool ms_given_dim(ms_frame *frame, const ms_text_node *at, ms_value value, uint32_t rank,
                  uint32_t *dim);
bool ms_given_last(ms_frame *frame, const ms_text_node *call, ms_value x, ms_value dim);

/* The dimension and the number that an argument is; missing ones are `otherwise`. */
ms_dim ms_frame_dim(ms_frame *frame, const ms_text_node *node);
double ms_frame_number(ms_frame *frame, const ms_text_node *node, double otherwise);
ms_dim ms_size_of_value(ms_frame *frame, ms_value value);
/* A tuple of sizes. */
ms_value ms_shape_value(ms_frame *frame, const ms_shape *shape);
ms_dim ms_making_dim(const ms_making *making, uint32_t argument);
bool ms_making_truth(const ms_making *making, uint32_t argument, bool otherwise);
/* The part that an argument leads to, a path from the root; NULL: there is none such. */
ms_family_part *ms_making_follow(const ms_making *making, uint32_t argument);
/* The local that an argument names. */
ms_tensor *ms_frame_local(ms_frame *frame, const ms_text_node *node);

#endif
