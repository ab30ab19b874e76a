/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Passes of a model whose text was read: whole, or as stages of a pipeline.
 */
#include <string.h>

#include "model/decoder/decoder_stage.h"
#include "model/decoder/router_loss.h"
#include "model/evaluator/evaluate.h"

void ms_family_text_forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_family_program *p = model->modules;
    ms_object *whole = p->model->objects;
    ms_results results = {.count = 1};
    ms_locals f = ms_locals_begin(model->tape);
    ms_family_call(model, whole, whole->klass->forward, &in->ids, &results);
    ms_tensor *hidden = ms_local(&f, results.items[0]);
    ms_tensor *auxiliary = ms_local(&f, 0);
    ms_tensor *loss = ms_head_call(model, &f, &p->head->linear, *hidden, in, out);
    if (p->text->balances_experts)
        ms_router_loss_add(model, &f, auxiliary, loss);
    if (!in->labels)
        out->auxiliary = ms_hand_out(model->tape, *auxiliary);
    ms_forward_end(&f, loss, out);
    ms_router_logits_drop(model);
}

/* ---- stages of a pipeline ---- */

_Static_assert((int)MS_STAGE_ARGUMENTS == (int)MS_FAMILY_NAMES, "a pass has a layer's arguments");

/* The list of layers, which all get the same arguments in a stage. NULL: none. */
static ms_family_part *layers_of(const ms_model *model)
{
    const ms_family_program *p = model->modules;
    const ms_object *whole = p->model->objects;
    for (uint32_t i = 0; i < whole->klass->field_count; i++)
        if (whole->parts[i].is_list)
            return &whole->parts[i];
    return NULL;
}

static uint32_t embedding_scope(const ms_model *model)
{
    const ms_family_program *p = model->modules;
    const ms_object *whole = p->model->objects;
    for (uint32_t i = 0; i < whole->klass->field_count; i++)
        if (whole->parts[i].maker == p->text->table)
            return whole->parts[i].scope;
    return MS_NONE;
}

static ms_linear_module *head_of(const ms_model *model)
{
    return &((ms_family_program *)model->modules)->head->linear;
}

static ms_tensor run_stage(ms_model *model, const ms_pipeline_stage *stage, ms_tensor input,
                           ms_stage_pass *pass)
{
    ms_family_program *p = model->modules;
    ms_object *whole = p->model->objects;
    const ms_family_part *layers = layers_of(model);
    ms_results results = {.count = 1};
    const ms_family_program before = *p;
    *pass = (ms_stage_pass){0};
    if (!whole->klass->stage) {
        ms_tape_refuse(model->tape,
                       "the family's text does not say how a stage of a pipeline runs");
        return 0;
    }
    p->first = (uint32_t)stage->first;
    p->end = (uint32_t)stage->end;
    p->is_first_stage = stage->is_first;
    p->is_last_stage = stage->is_last;
    const uint32_t previous = ms_scope_enter(model->tape, whole->scope);
    ms_module_begin(model->tape, MS_NONE);
    ms_family_call(model, whole, whole->klass->stage, &input, &results);
    ms_module_end(model->tape, MS_NONE);
    model->tape->scope = previous;
    if (layers)
        memcpy(pass->given, layers->objects[stage->first].given, sizeof pass->given);
    *p = before;
    return results.items[0];
}

static void resume(ms_model *model, const ms_stage_pass *pass)
{
    const ms_family_part *layers = layers_of(model);
    for (uint32_t i = 0; layers && i < layers->count; i++)
        memcpy(layers->objects[i].given, pass->given, sizeof pass->given);
}

const ms_stage_program ms_family_text_stages = {embedding_scope, head_of, run_stage, resume};
