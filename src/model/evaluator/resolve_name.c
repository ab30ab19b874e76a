/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/resolve.h"

#include <stdio.h>
#include <string.h>

#include "model/evaluator/primitive.h"
#include "base/text/nearest.h"

/* ---- names ---- */

uint32_t ms_resolver_slot(const ms_resolver *r, const char *name)
{
    uint32_t i = 0;
    while (i + 1 < r->function->slot_count && strcmp(r->names[i], name) != 0)
        i++;
    return i;
}

uint32_t ms_class_field(const ms_family_class *klass, const char *name)
{
    for (uint32_t i = 0; klass && i < klass->field_count; i++)
        if (strcmp(klass->fields[i].name, name) == 0)
            return i;
    return MS_FAMILY_FIELDS;
}

ms_family_function *ms_class_find(const ms_family_class *klass, const char *name)
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
        return MS_TYPE_ANY;
    node->key = ms_family_key_find(r->text, node->text);
    if (!node->key)
        node->key = ms_family_key_always(node->text);
    if (node->key) {
        node->kind = MS_NODE_KEY;
        return MS_TYPE_NUMBER;
    }
    return ms_take_fact(node, node->text, false) ? MS_TYPE_NUMBER
                                                 : ms_resolve_unknown(r, node, false);
}

bool ms_is_own_member(const ms_resolver *r, const ms_text_node *node)
{
    const ms_text_node *of = node->items[0];
    ms_text_node fact = *node;
    if (of->kind != MS_NODE_NAME)
        return false;
    const bool is_layer =
        (r->loop && strcmp(of->text, r->loop) == 0) || (r->rule && strcmp(of->text, r->rule) == 0);
    return strcmp(of->text, "self") == 0 || (is_layer && ms_take_fact(&fact, node->text, true));
}

/* self.NAME, layer.NAME of a loop */
ms_family_type ms_resolve_member(ms_resolver *r, ms_text_node *node)
{
    const bool is_self = strcmp(node->items[0]->text, "self") == 0;
    char hint[128];
    node->index = is_self ? ms_class_field(r->klass, node->text) : MS_FAMILY_FIELDS;
    if (node->index < MS_FAMILY_FIELDS) {
        const ms_family_field *field = &r->klass->fields[node->index];
        const bool is_tensor =
            field->value->kind == MS_NODE_PRIMITIVE && !field->value->primitive->call;
        node->kind = MS_NODE_FIELD;
        return is_tensor ? MS_TYPE_TENSOR : r->function ? MS_TYPE_ANY : MS_TYPE_MODULE;
    }
    if (ms_take_fact(node, node->text, true)) {
        r->text->uses_numbers |= node->index == MS_FACT_NUMBER;
        node->number = !is_self && !r->rule;
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
