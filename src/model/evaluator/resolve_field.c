/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/resolve.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "model/evaluator/primitive.h"

static const ms_family_class *class_of(const ms_family_text *text, const char *name)
{
    for (uint32_t i = 0; i < text->class_count; i++)
        if (strcmp(text->classes[i]->name, name) == 0)
            return text->classes[i];
    return NULL;
}

static bool resolve_new(ms_resolver *r, ms_text_node *node)
{
    const ms_text_node *called = node->items[0];
    if (called->kind == MS_NODE_NAME) {
        const ms_family_class *klass = class_of(r->text, called->text);
        const ms_primitive *row = klass ? NULL : ms_primitive_find(called->text, true);
        if (row)
            return ms_resolve_arguments(r, node, row);
        if (!klass)
            return ms_resolve_unknown(r, called, true) != MS_TYPE_WRONG;
        if (node->count > 1)
            ms_family_fail(r->reading, node->items[1], "a class of the text takes no arguments");
        node->kind = MS_NODE_CLASS;
        node->klass = klass;
        return r->reading->status == MS_OK;
    }
    ms_family_fail(r->reading, node, "a field is a call of a class, as Layer() or linear(...)");
    return false;
}

/* [Norm(), Mlp()]: a class whose fields are numbers. */
static bool resolve_modules(ms_resolver *r, ms_text_node *node)
{
    ms_family_class *c = ms_arena_array(r->reading->arena, ms_family_class, 1);
    ms_family_field *fields = ms_arena_array(r->reading->arena, ms_family_field, node->count + 1);
    if (!c || !fields) {
        ms_family_fail(r->reading, node, "out of memory");
        return false;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        fields[i] =
            (ms_family_field){ms_arena_printf(r->reading->arena, "%" PRIu32, i), node->items[i]};
        if (!fields[i].name || !ms_resolve_field(r, node->items[i]))
            return false;
    }
    *c = (ms_family_class){
        .name = "the list", .fields = fields, .field_count = node->count, .is_numbered = true};
    node->kind = MS_NODE_CLASS;
    node->klass = c;
    return true;
}

/* [Layer() for layer in range(num_hidden_layers)]; of what rows make, any number. */
static bool resolve_list(ms_resolver *r, ms_text_node *node)
{
    ms_text_node *range = node->items[1];
    bool is_range = range->kind == MS_NODE_CALL && (range->count == 2 || range->count == 3) &&
                    range->items[0]->kind == MS_NODE_NAME &&
                    strcmp(range->items[0]->text, "range") == 0;
    for (uint32_t i = 1; is_range && i < range->count; i++)
        is_range = ms_resolve_number(r, range->items[i]);
    if (!ms_resolve_field(r, node->items[0]))
        return false;
    if (is_range && node->items[0]->kind == MS_NODE_PRIMITIVE && node->items[0]->primitive->call) {
        node->primitive = node->items[0]->primitive;
        return true;
    }
    const ms_family_class *klass = ms_made_class(node->items[0]);
    const bool is_counted =
        is_range && range->count == 2 &&
        (!klass || ms_family_lists_layers(node) || klass->role == MS_ROLE_TOWER_LAYER ||
         klass->role == MS_ROLE_NONE || range->items[1]->kind == MS_NODE_FACT);
    if (!is_counted)
        ms_family_fail(r->reading, range,
                       "a list of modules is a list of layers: expected range(num_hidden_layers) "
                       "or the layers of a tower");
    else if (!klass)
        ms_family_fail(r->reading, node->items[0], "a layer is a module of a class of the text");
    return r->reading->status == MS_OK;
}

bool ms_resolve_field(ms_resolver *r, ms_text_node *node)
{
    switch ((int)node->kind) {
    case MS_NODE_CALL:
        return resolve_new(r, node);
    case MS_NODE_COMPREHENSION:
        return resolve_list(r, node);
    case MS_NODE_LIST:
        return resolve_modules(r, node);
    case MS_NODE_CHOICE:
        return ms_resolve_number(r, node->items[1]) && ms_resolve_field(r, node->items[0]) &&
               ms_resolve_field(r, node->items[2]);
    case MS_NODE_NONE:
    case MS_NODE_PRIMITIVE: /* resolved for the class that this one is like */
    case MS_NODE_CLASS:
        return true;
    default:
        ms_family_fail(r->reading, node,
                       "a field is a call of a class, as Layer() or linear(...), or None");
        return false;
    }
}
