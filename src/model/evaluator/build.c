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
    return (ms_text_facts){.config = m->model->config, .layer = m->self->number};
}

ms_dim ms_family_key_dim(const ms_model *model, const ms_family_key *key)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_text_facts facts = {.config = model->config};
    const ms_text_node node = {.kind = MS_NODE_KEY, .key = key};
    switch (key->dim) {
    case MS_FAMILY_DIM_HIDDEN:
        return model->hidden;
    case MS_FAMILY_DIM_INTERMEDIATE:
        return model->intermediate;
    case MS_FAMILY_DIM_VOCAB:
        return model->vocab;
    case MS_FAMILY_DIM_HEADS:
        return model->heads;
    case MS_FAMILY_DIM_KV_HEADS:
        return model->kv_heads;
    case MS_FAMILY_DIM_HEAD:
        return model->head_dim;
    case MS_FAMILY_DIM_POSITIONS:
        return ms_dim_name(s, "P", model->config->max_positions);
    case MS_FAMILY_DIM_OWN:
        break;
    }
    return ms_dim_name(s, key->name, (uint64_t)ms_family_number(&facts, &node));
}

ms_dim ms_family_dim_of(const ms_model *model, const ms_text_facts *facts, const ms_text_node *node)
{
    ms_symbols *s = &model->tape->trace->symbols;
    if (node->kind == MS_NODE_KEY && node->key->row.kind <= MS_KEY_OPTIONAL)
        return ms_family_key_dim(model, node->key);
    if (node->kind == MS_NODE_CHOICE) {
        const bool is_first = ms_family_truth(facts, node->items[1]);
        return ms_family_dim_of(model, facts, node->items[is_first ? 0 : 2]);
    }
    if (node->kind == MS_NODE_ADD || node->kind == MS_NODE_MULTIPLY) {
        const ms_dim a = ms_family_dim_of(model, facts, node->items[0]);
        const ms_dim b = ms_family_dim_of(model, facts, node->items[1]);
        return node->kind == MS_NODE_ADD ? ms_dim_add(s, a, b) : ms_dim_mul(s, a, b);
    }
    if (node->kind == MS_NODE_DIVIDE_WHOLE && node->items[1]->kind == MS_NODE_NUMBER &&
        (uint64_t)node->items[1]->number == 2) {
        const ms_dim a = ms_family_dim_of(model, facts, node->items[0]);
        if (a.value % 2 == 0)
            return ms_dim_half(s, a);
    }
    return ms_dim_number(s, (uint64_t)ms_family_number(facts, node));
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

/* ---- modules ---- */

static bool build_object(ms_model *model, ms_object *root, ms_object *o);

static bool build_objects(const ms_making *m, ms_family_part *p)
{
    ms_model *model = m->model;
    const bool is_list = m->call->kind == MS_NODE_COMPREHENSION;
    const uint64_t count = is_list ? model->config->num_layers : 1;
    uint32_t scope = m->scope;
    p->objects = ms_arena_array(model->arena, ms_object, count);
    p->count = (uint32_t)count;
    p->is_list = is_list;
    if (is_list)
        scope = ms_scope_add(model->tape, scope, m->name, MS_NONE);
    for (uint32_t i = 0; p->objects && i < count && model->tape->status == MS_OK; i++) {
        char number[16];
        ms_object *o = &p->objects[i];
        ms_text_facts facts = {.config = model->config, .layer = is_list ? i : m->self->number};
        const ms_text_node *made = is_list ? m->call->items[0] : m->call;
        while (made->kind == MS_NODE_CHOICE)
            made = made->items[ms_family_truth(&facts, made->items[1]) ? 0 : 2];
        snprintf(number, sizeof number, "%u", i);
        *o = (ms_object){.klass = made->klass, .number = facts.layer};
        o->scope =
            ms_scope_add(model->tape, scope, is_list ? number : m->name, is_list ? i : MS_NONE);
        if (!build_object(model, m->root, o))
            return false;
    }
    return p->objects && model->tape->status == MS_OK;
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
    if (m.call->kind != MS_NODE_PRIMITIVE)
        return build_objects(&m, p);
    m.call->primitive->make(&m);
    return model->tape->status == MS_OK;
}

static bool build_object(ms_model *model, ms_object *root, ms_object *o)
{
    o->parts = ms_arena_array(model->arena, ms_family_part, o->klass->field_count);
    for (uint32_t i = 0; o->parts && i < o->klass->field_count; i++)
        if (!build_part(model, root, o, i))
            return false;
    return o->parts != NULL;
}

bool ms_family_text_build(ms_model *model)
{
    const ms_family_text *text = model->config->family->text;
    ms_family_program *p = ms_arena_array(model->arena, ms_family_program, 1);
    if (!p)
        return false;
    *p = (ms_family_program){.text = text,
                             .root = {.klass = &text->root, .scope = MS_NONE, .number = MS_NONE},
                             .end = (uint32_t)model->config->num_layers};
    model->modules = p;
    model->softmax_in_fp32 = !text->softmax_as_input;
    if (text->multiplies_logits || text->divides_logits)
        model->scale_logits = text->multiplies_logits ? ms_mul_scalar : ms_div_scalar;
    if (!build_object(model, &p->root, &p->root))
        return false;
    p->model = &p->root.parts[text->model_field];
    p->head = &p->root.parts[text->head_field];
    return true;
}
