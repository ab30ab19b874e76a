/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/resolve.h"

#include <stdio.h>
#include <string.h>

#include "model/evaluator/primitive.h"
#include "base/text/nearest.h"

/* ---- facts ---- */

static const struct {
    const char *name;
    ms_family_fact fact;
    bool of_layer; /* self.NAME, or NAME of a loop's module */
} facts[] = {{"slides", MS_FACT_SLIDES, true},
             {"is_sparse", MS_FACT_IS_SPARSE, true},
             {"rotates", MS_FACT_ROTATES, true},
             {"layer_number", MS_FACT_NUMBER, true},
             {"any_layer_slides", MS_FACT_ANY_SLIDES, false},
             {"any_layer_is_full", MS_FACT_ANY_FULL, false},
             {"head_is_tied", MS_FACT_IS_TIED, false},
             {"liger_swiglu", MS_FACT_LIGER_SWIGLU, false},
             {"is_first_stage", MS_FACT_FIRST_STAGE, false},
             {"is_last_stage", MS_FACT_LAST_STAGE, false}};

static bool take_fact(ms_text_node *node, const char *name, bool of_layer)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].of_layer == of_layer && strcmp(facts[i].name, name) == 0) {
            node->kind = MS_NODE_FACT;
            node->index = facts[i].fact;
            return true;
        }
    return false;
}

/* ---- names ---- */

uint32_t ms_class_field(const ms_family_class *klass, const char *name)
{
    for (uint32_t i = 0; klass && i < klass->field_count; i++)
        if (strcmp(klass->fields[i].name, name) == 0)
            return i;
    return MS_FAMILY_FIELDS;
}

const ms_family_function *ms_class_find(const ms_family_class *klass, const char *name)
{
    for (uint32_t i = 0; klass && i < klass->function_count; i++)
        if (strcmp(klass->functions[i].name, name) == 0)
            return &klass->functions[i];
    return NULL;
}

ms_family_type ms_resolve_unknown(ms_resolver *r, const ms_text_node *node, bool is_called)
{
    char hint[128];
    ms_nearest near = ms_nearest_to(node->text);
    if (is_called && ms_primitive_find(node->text, true)) {
        ms_family_fail(r->reading, node,
                       "'%.40s' makes a module: give it a field of a class, and call self.FIELD(x)",
                       node->text);
        return MS_TYPE_WRONG;
    }
    for (uint32_t i = 0; r->function && !is_called && i < r->function->slot_count; i++)
        ms_nearest_offer(&near, r->names[i]);
    for (uint32_t i = 0; !is_called && i < r->text->key_count; i++)
        ms_nearest_offer(&near, r->text->keys[i].name);
    for (uint32_t i = 0; is_called && ms_primitive_at(i); i++)
        ms_nearest_offer(&near, ms_primitive_at(i)->name);
    for (uint32_t i = 0; is_called && i < r->text->class_count; i++)
        ms_nearest_offer(&near, r->text->classes[i]->name);
    ms_family_fail(r->reading, node, "%s '%.40s' is not known here%s",
                   is_called ? "the function" : "the name", node->text,
                   ms_nearest_hint(&near, hint, sizeof hint));
    return MS_TYPE_WRONG;
}

/* A local, an argument; true if there is one. */
static bool take_local(const ms_resolver *r, ms_text_node *node)
{
    const ms_family_function *f = r->function;
    for (uint32_t i = 0; f && i < f->slot_count; i++)
        if (r->names[i] && strcmp(r->names[i], node->text) == 0) {
            node->kind = MS_NODE_LOCAL;
            node->index = i;
            return true;
        }
    for (uint32_t i = 1; f && i < f->parameter_count; i++)
        if (strcmp(f->parameters[i], node->text) == 0) {
            node->kind = MS_NODE_GIVEN;
            node->index = i;
            return true;
        }
    return false;
}

ms_family_type ms_resolve_name(ms_resolver *r, ms_text_node *node)
{
    if (r->loop && strcmp(r->loop, node->text) == 0) {
        node->kind = MS_NODE_OBJECT;
        return MS_TYPE_MODULE;
    }
    if (r->rule && strcmp(r->rule, node->text) == 0) {
        node->kind = MS_NODE_FACT;
        node->index = MS_FACT_NUMBER;
        return MS_TYPE_NUMBER;
    }
    if (take_local(r, node))
        return MS_TYPE_TENSOR;
    node->key = ms_family_key_find(r->text, node->text);
    if (!node->key)
        node->key = ms_family_key_derived(node->text);
    if (node->key) {
        node->kind = MS_NODE_KEY;
        return MS_TYPE_NUMBER;
    }
    return take_fact(node, node->text, false) ? MS_TYPE_NUMBER : ms_resolve_unknown(r, node, false);
}

/* self.NAME, layer.NAME of a loop */
ms_family_type ms_resolve_member(ms_resolver *r, ms_text_node *node)
{
    const ms_text_node *of = node->items[0];
    const bool is_self = of->kind == MS_NODE_NAME && strcmp(of->text, "self") == 0;
    const bool is_loop = of->kind == MS_NODE_NAME && r->loop && strcmp(of->text, r->loop) == 0;
    char hint[128];
    if (!is_self && !is_loop) {
        ms_family_fail(r->reading, node, "only self and the module of a loop have members");
        return MS_TYPE_WRONG;
    }
    node->index = is_self ? ms_class_field(r->klass, node->text) : MS_FAMILY_FIELDS;
    if (node->index < MS_FAMILY_FIELDS) {
        const ms_family_field *field = &r->klass->fields[node->index];
        const bool is_tensor =
            field->value->kind == MS_NODE_PRIMITIVE && !field->value->primitive->call;
        node->kind = MS_NODE_FIELD;
        return is_tensor ? MS_TYPE_TENSOR : MS_TYPE_MODULE;
    }
    if (take_fact(node, node->text, true)) {
        r->text->uses_numbers |= node->index == MS_FACT_NUMBER;
        node->number = is_loop;
        return MS_TYPE_NUMBER;
    }
    ms_nearest near = ms_nearest_to(node->text);
    for (uint32_t i = 0; is_self && r->klass && i < r->klass->field_count; i++)
        ms_nearest_offer(&near, r->klass->fields[i].name);
    ms_family_fail(r->reading, node, "%s has no member '%.40s'%s",
                   r->klass && r->klass->name ? r->klass->name : "the family", node->text,
                   ms_nearest_hint(&near, hint, sizeof hint));
    return MS_TYPE_WRONG;
}
