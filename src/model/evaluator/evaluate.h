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
} ms_family_program;

bool ms_family_text_build(ms_model *model);
void ms_family_text_forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out);
extern const struct ms_stage_program ms_family_text_stages;

/* build.c: dimensions of keys and of expressions. */
ms_dim ms_family_key_dim(const ms_model *model, const ms_family_key *key);
ms_dim ms_family_dim_of(const ms_model *model, const ms_text_facts *facts,
                        const ms_text_node *node);
/* Calls a function of a module; `args`: one for each parameter, 0 for those that are None. The
 * first may float. */
void ms_family_call(ms_model *model, ms_object *object, const ms_family_function *function,
                    const ms_tensor *args, ms_results *results);

#endif
