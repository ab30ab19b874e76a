/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models of families whose modules and calls are a text: the program that builds and runs them.
 */
#ifndef MS_MODEL_EVALUATOR_EVALUATE_H
#define MS_MODEL_EVALUATOR_EVALUATE_H

#include "model/evaluator/primitive.h"

/* What model->modules is. */
typedef struct ms_family_program {
    const ms_family_text *text;
    ms_object root;
    ms_family_part *model, *head;
    /* Of the layers, those that loops go over: all, or those of a stage. */
    uint32_t first, end;
    bool is_first_stage, is_last_stage;
    const ms_model_inputs *in; /* of the pass that runs */
    ms_model_outputs *out;
    ms_items_pool pool;
    ms_items *shared; /* the dict that layers of model->shared got; NULL: none is kept */
    ms_value handed;  /* what the layer that ran returned behind its states, retained; or none */
    ms_value (*evaluate)(ms_frame *frame, const ms_text_node *node); /* ms_family_evaluate */
    uint64_t steps;                                                  /* of the running pass */
    uint32_t frames; /* calls that run, within each other */
    /* Tables that were made and share another's weight: they go once the model is built. */
    ms_tensor spare[4];
    uint32_t spare_count;
} ms_family_program;

bool ms_family_text_build(ms_model *model);
/* The encoder alone, as ms_model.encode. */
ms_tensor ms_family_text_encode(ms_model *model, ms_tensor input);
void ms_family_text_forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out);
extern const struct ms_stage_program ms_family_text_stages;

/* sizes.c: dimensions of keys and of expressions of the config. */
ms_dim ms_family_key_dim(const ms_model *model, const ms_family_key *key);
ms_dim ms_family_dim_of(const ms_model *model, const ms_text_facts *facts,
                        const ms_text_node *node);

/* call.c: calls a function of a module; `args`: one for each parameter, which the caller owns but
 * for the first, that may float. The result floats unless something else has it. */
ms_value ms_family_call(ms_model *model, ms_object *object, const ms_family_function *function,
                        const ms_value *args);
/* The same where a tensor is given, and a tensor or None (0) wanted: MS_ERR_CONFIG for anything
 * else. */
ms_tensor ms_family_call_tensor(ms_model *model, ms_object *object,
                                const ms_family_function *function, ms_tensor input);
/* The same of two. */
ms_tensor ms_family_call_tensors(ms_model *model, ms_object *object,
                                 const ms_family_function *function, ms_tensor first,
                                 ms_tensor second);

/* evaluate.c: the value of an expression. It floats unless a name or another value has it. */
ms_value ms_family_evaluate(ms_frame *frame, const ms_text_node *node);
/* call.c: calls of modules and of the text's functions. */
ms_value ms_frame_call(ms_frame *frame, const ms_text_node *node);
/* The list of self that has a module; NULL: none. */
ms_family_part *ms_frame_part_of(ms_frame *frame, const ms_object *object);
/* rows.c: a call of a row; a tuple of tensors; the value that results are: a tensor, or a tuple of
 * several. */
ms_value ms_row_call(ms_frame *frame, const ms_text_node *node);
ms_value ms_frame_tensors(ms_frame *frame, const ms_text_node *node, uint32_t count,
                          const ms_tensor *tensors);
ms_value ms_frame_results(ms_frame *frame, const ms_text_node *node, const ms_results *results);
/* As many values as names are bound. *keeper has them, if it is a list; it is consumed once they
 * are bound. */
void ms_frame_values(ms_frame *frame, const ms_text_node *node, uint32_t count, ms_value *values,
                     ms_value *keeper);
/* items.c: x[...] = y, x[...] += y. */
void ms_frame_set_items(ms_frame *frame, const ms_text_statement *statement);
/* The region's layer gets a dict, which lives as long as a checkpoint has it. */
void ms_dict_share(ms_frame *frame, const ms_text_node *node, ms_region *region, ms_items *dict);
/* index.c: x[...] of a tensor or a list. `node` has the subscripts behind its first item. Consumes
 * a tensor that floats. */
ms_value ms_index_value(ms_frame *frame, const ms_text_node *node, ms_value base);

/* ---- frame.c ---- */

/* What ms_family_evaluate yields, through the program's pointer. */
static inline ms_value ms_frame_value(ms_frame *frame, const ms_text_node *node)
{
    return ((const ms_family_program *)frame->model->modules)->evaluate(frame, node);
}

/* The same of a tensor or None; anything else is a failure. */
ms_tensor ms_frame_tensor(ms_frame *frame, const ms_text_node *node);
bool ms_frame_truth(ms_frame *frame, const ms_text_node *node);
/* Whether a value counts as true; what a tensor has inside is not known, and fails. */
bool ms_frame_is_true(ms_frame *frame, const ms_text_node *node, ms_value value);
/* A number of the config: a size has its symbol. */
ms_value ms_frame_config_number(const ms_frame *frame, const ms_text_node *node);
/* What a field of a module has. */
ms_value ms_part_value(ms_family_part *part);
/* A name gets a value; what it had before goes then. */
void ms_frame_bind(ms_frame *frame, uint32_t slot, ms_value value);
/* What a run cannot do: MS_ERR_CONFIG with the node's place. Only the first is recorded. */
__attribute__((format(printf, 3, 4))) void ms_frame_fail(ms_frame *frame, const ms_text_node *at,
                                                         const char *format, ...);

/* The same for a function of values: nothing is its result. */
static inline ms_value ms_frame_failed(ms_frame *frame, const ms_text_node *at, const char *what)
{
    ms_frame_fail(frame, at, "%s", what);
    return (ms_value){0};
}

static inline ms_family_program *ms_frame_program(const ms_frame *frame)
{
    return frame->model->modules;
}

static inline ms_items_pool *ms_frame_pool(const ms_frame *frame)
{
    return &ms_frame_program(frame)->pool;
}

/* checks.c: whether the arguments of a row's call fit; false: a failure is recorded. */
bool ms_check_function(ms_frame *frame, const ms_text_node *node, const ms_tensor *args);
bool ms_check_part(ms_frame *frame, const ms_text_node *node, const ms_family_part *part,
                   const ms_tensor *args);
/* "WHAT here, and not [2, 64]"; false. */
bool ms_check_fail(ms_frame *frame, const ms_text_node *node, ms_tensor tensor, const char *what);
bool ms_check_product(ms_frame *frame, const ms_text_node *node, ms_tensor a, ms_tensor b);
/* Whether b has no dimension that a lacks, so that a keeps its shape in place; nothing is recorded.
 */
bool ms_check_covers(ms_frame *frame, ms_tensor a, ms_tensor b);
/* Whether two tensors broadcast to each other. */
bool ms_check_broadcast(ms_frame *frame, const ms_text_node *node, ms_tensor a, ms_tensor b);

#endif
