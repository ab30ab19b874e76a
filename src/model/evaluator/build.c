/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "model/evaluator/evaluate.h"
#include "model/evaluator/primitive.h"
#include "torch/ops/ops.h"

/* ---- numbers ---- */

static ms_text_facts facts_of(const ms_making *m)
{
    return (ms_text_facts){
        .config = m->model->config, .layer = m->self->number, .place = m->self->place};
}

ms_dim ms_making_dim(const ms_making *m, uint32_t argument)
{
    const ms_text_facts facts = facts_of(m);
    return ms_family_dim_of(m->model, &facts, m->call->items[argument]);
}

bool ms_making_truth(const ms_making *m, uint32_t argument, bool otherwise)
{
    const ms_text_facts facts = facts_of(m);
    const ms_text_node *node = argument < m->call->count ? m->call->items[argument] : NULL;
    return node ? ms_family_truth(&facts, node) : otherwise;
}

/* The part that a path leads to: model.embed_tokens. NULL: there is none such. */
static ms_family_part *follow(const ms_object *root, const ms_text_node *path)
{
    const char *name = path->text;
    const ms_object *in = root;
    if (path->kind == MS_NODE_MEMBER) {
        const ms_family_part *outer = follow(root, path->items[0]);
        in = outer && outer->objects ? outer->objects : NULL;
    } else if (path->kind != MS_NODE_NAME) {
        return NULL;
    }
    for (uint32_t i = 0; in && i < in->klass->field_count; i++)
        if (strcmp(in->klass->fields[i].name, name) == 0)
            return &in->parts[i];
    return NULL;
}

ms_family_part *ms_making_follow(const ms_making *m, uint32_t argument)
{
    return follow(m->root, m->call->items[argument]);
}

/* ---- modules ---- */

static bool build_object(ms_model *model, ms_object *root, ms_object *o);

static bool build_objects(const ms_making *m, ms_family_part *p)
{
    ms_model *model = m->model;
    const bool is_list = m->call->kind == MS_NODE_COMPREHENSION;
    const bool of_layers = ms_family_lists_layers(m->call);
    const uint32_t count = is_list ? ms_family_list_count(model->config, m->call, &p->first) : 1;
    uint32_t scope = m->scope;
    p->objects = ms_arena_array(model->arena, ms_object, count);
    p->count = count;
    p->is_list = is_list;
    if (is_list)
        scope = ms_scope_add(model->tape, scope, m->name, MS_NONE);
    for (uint32_t i = 0; p->objects && i < count && model->tape->status == MS_OK; i++) {
        char number[16];
        ms_object *o = &p->objects[i];
        ms_text_facts facts = {.config = model->config,
                               .layer = of_layers ? p->first + i : m->self->number,
                               .place = is_list ? i : m->self->place};
        const ms_text_node *made = is_list ? m->call->items[0] : m->call;
        while (made->kind == MS_NODE_CHOICE)
            made = made->items[ms_family_truth(&facts, made->items[1]) ? 0 : 2];
        snprintf(number, sizeof number, "%u", i);
        *o = (ms_object){.klass = made->klass,
                         .number = facts.layer,
                         .place = facts.place,
                         .is_of_tower = m->self->is_of_tower || made->klass->is_tower};
        o->scope = ms_scope_add(model->tape, scope, is_list ? number : m->name,
                                of_layers ? facts.layer : MS_NONE);
        const uint32_t parameters = model->tape->parameters.count;
        if (!build_object(model, m->root, o))
            return false;
        /* an adapter freezes by itself */
        if (o->klass->is_tower && model->run->images.frozen && !model->run->adapter)
            ms_parameters_freeze(model, parameters, model->tape->parameters.count);
        if (o->klass->is_group)
            o->scope = MS_NONE;
    }
    return p->objects && model->tape->status == MS_OK;
}

/* What a row makes. */
static bool build_row(const ms_making *m)
{
    ms_model *model = m->model;
    const ms_shape_rule rule = m->call->primitive->shape;
    const uint32_t count = model->tape->parameters.count;
    m->part->maker = m->call;
    m->part->model = model;
    if (rule == MS_SHAPE_LINEAR || rule == MS_SHAPE_NORM)
        m->part->width = ms_making_dim(m, 0).value;
    m->call->primitive->make(m);
    if (!m->call->primitive->call && model->tape->parameters.count > count)
        ms_parameter_move_last(model, m->self->first_parameter++);
    return model->tape->status == MS_OK;
}

/* A list of what a row makes, one by one. */
static bool build_rows(const ms_making *m)
{
    ms_family_part *p = m->part;
    const ms_text_facts facts = facts_of(m);
    ms_making one = *m;
    p->is_list = true;
    p->count = (uint32_t)ms_family_range_count(&facts, m->call);
    p->parts = ms_arena_array(m->model->arena, ms_family_part, p->count + 1);
    one.scope = ms_scope_add(m->model->tape, m->scope, m->name, MS_NONE);
    one.call = m->call->items[0];
    for (uint32_t i = 0; p->parts && i < p->count && m->model->tape->status == MS_OK; i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", i);
        one.name = number;
        one.part = &p->parts[i];
        (void)build_row(&one);
    }
    return p->parts && m->model->tape->status == MS_OK;
}

static bool build_part(ms_model *model, ms_object *root, ms_object *o, uint32_t place)
{
    const ms_family_field *field = &o->klass->fields[place];
    ms_family_part *p = &o->parts[place];
    ms_making m = {model, o, root, o->scope, field->name, field->value, p};
    const ms_text_facts facts = facts_of(&m);
    while (m.call->kind == MS_NODE_CHOICE)
        m.call = m.call->items[ms_family_truth(&facts, m.call->items[1]) ? 0 : 2];
    p->model = model;
    if (m.call->kind == MS_NODE_NONE)
        return true;
    p->maker = m.call;
    if (m.call->kind == MS_NODE_PRIMITIVE)
        return build_row(&m);
    return m.call->kind == MS_NODE_COMPREHENSION && m.call->primitive ? build_rows(&m)
                                                                      : build_objects(&m, p);
}

static bool build_object(ms_model *model, ms_object *root, ms_object *o)
{
    o->parts = ms_arena_array(model->arena, ms_family_part, o->klass->field_count);
    o->first_parameter = model->tape->parameters.count;
    for (uint32_t i = 0; o->parts && i < o->klass->field_count; i++)
        if (!build_part(model, root, o, i))
            return false;
    return o->parts != NULL;
}

/* What a module's own function does as the weights are initialised, once all are built. */
static void initialise(ms_model *model, ms_object *o)
{
    const ms_family_function *function = o->klass->init_weights;
    const ms_value none[MS_FAMILY_NAMES] = {0};
    for (uint32_t i = 0; i < o->klass->field_count; i++)
        for (uint32_t k = 0; o->parts[i].objects && k < o->parts[i].count; k++)
            initialise(model, &o->parts[i].objects[k]);
    if (function && !ms_idle(model->tape))
        ms_value_consume(model->tape, &((ms_family_program *)model->modules)->pool,
                         ms_family_call(model, o, function, none));
}

bool ms_family_text_build(ms_model *model)
{
    const ms_family_text *text = model->config->family->text;
    ms_family_program *p = ms_arena_array(model->arena, ms_family_program, 1);
    if (!p)
        return false;
    *p = (ms_family_program){.text = text,
                             .pool = {.arena = model->arena},
                             .evaluate = ms_family_evaluate,
                             .root = {.klass = &text->root, .scope = MS_NONE, .number = MS_NONE},
                             .end = (uint32_t)model->config->num_layers};
    model->modules = p;
    model->softmax_in_fp32 = !text->softmax_as_input && !text->softmax_uncast;
    model->softmax_uncast = text->softmax_uncast;
    if (text->multiplies_logits || text->divides_logits)
        model->scale_logits = text->multiplies_logits ? ms_mul_scalar : ms_div_scalar;
    if (!build_object(model, &p->root, &p->root))
        return false;
    if (!text->root.forward) {
        p->model = &p->root.parts[text->model_field];
        p->head = &p->root.parts[text->head_field];
    }
    if (text->root.encode)
        model->encode = ms_family_text_encode;
    for (uint32_t i = 0; i < p->spare_count; i++)
        ms_consume(model->tape, p->spare[i]);
    initialise(model, &p->root);
    return true;
}
