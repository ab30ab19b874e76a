/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Passes of a model whose text was read: whole, or as stages of a pipeline.
 */
#include <string.h>

#include "model/decoder/decoder_stage.h"
#include "model/decoder/router_loss.h"
#include "model/evaluator/evaluate.h"
#include "torch/ops/ops.h"

/* The head reads hidden states. */
static void check_hidden(ms_model *model, ms_object *whole, ms_tensor hidden)
{
    ms_frame f = {.model = model, .self = whole};
    if (ms_idle(model->tape))
        return;
    const ms_shape *shape = hidden ? &ms_info(model->tape, hidden)->shape : NULL;
    if (!shape || shape->rank != 3 || shape->dims[2].value != ms_family_head_width(model->config))
        (void)ms_check_fail(&f, whole->klass->forward->text->place, hidden,
                            "the result must be hidden states [B, S, hidden_size]");
}

ms_tensor ms_family_text_encode(ms_model *model, ms_tensor input)
{
    ms_family_program *p = model->modules;
    p->steps = p->frames = 0;
    return ms_hand_out(model->tape,
                       ms_family_call_tensor(model, &p->root, p->text->root.encode, input));
}

/* The hidden states, and *features of images, retained, which the model hands out too. */
static ms_tensor run_model(ms_model *model, ms_object *whole, ms_tensor ids, ms_tensor *features)
{
    const ms_family_function *forward = whole->klass->forward;
    const ms_value args[MS_FAMILY_NAMES] = {ms_value_of_tensor(ids)};
    if (forward->results < 2)
        return ms_family_call_tensor(model, whole, forward, ids);
    ms_items_pool *pool = &((ms_family_program *)model->modules)->pool;
    const ms_value both = ms_family_call(model, whole, forward, args);
    if (both.kind != MS_VALUE_LIST || ms_idle(model->tape)) /* after a failure */
        return 0;
    const ms_value *values = both.items->values;
    if (values[0].kind > MS_VALUE_TENSOR || values[1].kind > MS_VALUE_TENSOR) {
        ms_frame f = {.model = model, .self = whole};
        ms_frame_fail(&f, forward->text->place, "the results of this function must be tensors");
        return 0;
    }
    const ms_tensor hidden = values[0].tensor;
    *features = values[1].tensor;
    ms_retain(model->tape, hidden);
    ms_retain(model->tape, *features);
    ms_value_consume(model->tape, pool, both);
    return ms_unown(model->tape, hidden);
}

/* What the head reads: the hidden states, or a copy in the type of its weight. */
static ms_tensor head_input(ms_model *model, ms_tensor hidden)
{
    const ms_family_program *p = model->modules;
    if (!p->text->casts_for_head || ms_idle(model->tape))
        return hidden;
    const ms_tensor weight = p->head->linear.weight;
    return ms_to(model->tape, hidden, (ms_dtype)ms_info(model->tape, weight)->dtype);
}

/* The loss of a class that says all itself: one number, or None. */
static ms_tensor call_root(ms_model *model, ms_family_program *p, const ms_model_inputs *in)
{
    const ms_family_function *forward = p->text->root.forward;
    const ms_tensor loss = ms_family_call_tensors(model, &p->root, forward, in->ids, in->encoded);
    ms_frame f = {.model = model, .self = &p->root};
    if (!loss || ms_idle(model->tape) || ms_elements(&ms_info(model->tape, loss)->shape) == 1)
        return loss;
    (void)ms_check_fail(&f, forward->text->place, loss, "the result must be a loss of one element");
    return 0;
}

void ms_family_text_forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_family_program *p = model->modules;
    p->steps = p->frames = 0;
    p->in = in;
    p->out = out;
    if (p->text->root.forward) {
        out->loss = ms_hand_out(model->tape, call_root(model, p, in));
        return;
    }
    ms_object *whole = p->model->objects;
    const ms_dim seq = model->seq;
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor features = 0;
    ms_tensor *hidden = ms_local(&f, run_model(model, whole, in->ids, &features));
    model->seq = seq; /* of which leaves_last_token() may have left one */
    check_hidden(model, whole, *hidden);
    ms_tensor *auxiliary = ms_local(&f, 0);
    ms_tensor *loss =
        ms_head_call(model, &f, &p->head->linear, head_input(model, *hidden), in, out);
    if (p->text->balances_experts)
        ms_router_loss_add(model, &f, auxiliary, loss);
    if (features || !in->labels)
        out->auxiliary = features ? features : ms_hand_out(model->tape, *auxiliary);
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
        if (whole->parts[i].is_list && whole->parts[i].objects)
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
    p->steps = p->frames = 0;
    const ms_tensor out = ms_family_call_tensor(model, whole, whole->klass->stage, input);
    if (!out && !ms_idle(model->tape))
        ms_tape_refuse(model->tape, "the function stage of a family's text must return a tensor");
    ms_module_end(model->tape, MS_NONE);
    model->tape->scope = previous;
    const ms_object *layer = layers ? &layers->objects[stage->first] : NULL;
    for (uint32_t i = 0; layer && i < MS_STAGE_ARGUMENTS; i++)
        pass->given[i] = layer->given[i].tensor;
    if (layer && layer->tuple.count > 0)
        ms_tape_refuse(model->tape, "the layers of a pipeline stage take tensors, not a tuple");
    const ms_items_pool pool = p->pool;
    *p = before;
    p->pool = pool;
    return out;
}

static void resume(ms_model *model, const ms_stage_pass *pass)
{
    const ms_family_part *layers = layers_of(model);
    for (uint32_t i = 0; layers && i < layers->count; i++)
        for (uint32_t k = 0; k < MS_STAGE_ARGUMENTS; k++)
            layers->objects[i].given[k] = ms_value_of_tensor(pass->given[k]);
}

const ms_stage_program ms_family_text_stages = {embedding_scope, head_of, run_stage, resume};
