/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/resolve.h"

#include <string.h>

#include "model/evaluator/primitive.h"

/* ---- slots: names in the order in which they are bound first, as in Python ---- */

static bool is_argument(const ms_family_function *f, const char *name, uint32_t *place)
{
    for (*place = 0; *place < f->parameter_count; ++*place)
        if (strcmp(f->parameters[*place], name) == 0)
            return true;
    return false;
}

static bool add_slot(ms_resolver *r, const ms_text_node *node, const char *name)
{
    ms_family_function *f = r->function;
    for (uint32_t i = 0; i < f->slot_count; i++)
        if (strcmp(r->names[i], name) == 0)
            return true;
    if (f->slot_count == MS_LOCALS_SLOTS) {
        ms_family_fail(r->reading, node, "a function has no more than %d local names",
                       MS_LOCALS_SLOTS);
        return false;
    }
    r->names[f->slot_count++] = name;
    return true;
}

/* The values that an expression has before its names are found. */
static uint32_t values_of(const ms_resolver *r, const ms_text_node *v)
{
    const ms_text_node *called = v->kind == MS_NODE_CALL ? v->items[0] : NULL;
    if (v->kind == MS_NODE_TUPLE)
        return v->count;
    if (!called)
        return 1;
    if (called->kind == MS_NODE_NAME) {
        const ms_primitive *row = ms_primitive_find(called->text, false);
        if (strcmp(called->text, "dict") == 0)
            return v->count - 1;
        return row && row->results != MS_RESULTS_WANTED ? row->results : 1;
    }
    const uint32_t field =
        called->kind == MS_NODE_MEMBER ? ms_class_field(r->klass, called->text) : MS_FAMILY_FIELDS;
    if (field == MS_FAMILY_FIELDS)
        return 1;
    const ms_text_node *value = r->klass->fields[field].value;
    const ms_family_function *f = ms_class_find(ms_made_class(value), "forward");
    return value->kind == MS_NODE_PRIMITIVE ? value->primitive->results : f ? f->results : 1;
}

/* Whether the statement keeps several values below one name, as a tuple or dict(...). */
static bool keeps_several(const ms_resolver *r, const ms_text_statement *s)
{
    return s->target_count == 1 && values_of(r, s->value) > 1;
}

static bool is_dict(const ms_text_node *v)
{
    return v->kind == MS_NODE_CALL && v->items[0]->kind == MS_NODE_NAME &&
           strcmp(v->items[0]->text, "dict") == 0;
}

/* A tuple lets go of its last item first, a dict of its first; both at the end of the call. */
static bool add_several(ms_resolver *r, const ms_text_statement *s)
{
    const uint32_t count = values_of(r, s->value);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t item = is_dict(s->value) ? i : count - 1 - i;
        const char *name = ms_arena_printf(r->reading->arena, "%s[%u]", s->targets[0]->text, item);
        if (!name || !add_slot(r, s->targets[0], name))
            return false;
    }
    return true;
}

static bool collect(ms_resolver *r, const ms_text_block *block)
{
    for (uint32_t i = 0; i < block->count; i++) {
        const ms_text_statement *s = block->items[i];
        if (s->kind == MS_STATEMENT_ASSIGN && keeps_several(r, s)) {
            if (!add_several(r, s))
                return false;
            continue;
        }
        for (uint32_t k = 0; s->kind == MS_STATEMENT_ASSIGN && k < s->target_count; k++)
            if (!add_slot(r, s->targets[k], s->targets[k]->text))
                return false;
        if (!collect(r, &s->body) || !collect(r, &s->other))
            return false;
    }
    return true;
}

/* Whether a block binds the name anew. */
static bool binds(const ms_text_block *block, const char *name)
{
    for (uint32_t i = 0; i < block->count; i++) {
        const ms_text_statement *s = block->items[i];
        for (uint32_t k = 0; s->kind == MS_STATEMENT_ASSIGN && k < s->target_count; k++)
            if (strcmp(s->targets[k]->text, name) == 0)
                return true;
        if (binds(&s->body, name) || binds(&s->other, name))
            return true;
    }
    return false;
}

static bool add_parameters(ms_resolver *r)
{
    ms_family_function *f = r->function;
    for (uint32_t i = 0; i < f->parameter_count; i++) {
        if (i > 0 && !binds(&f->text->body, f->parameters[i]))
            continue;
        f->slots[i] = (uint8_t)f->slot_count;
        if (!add_slot(r, f->text->place, f->parameters[i]))
            return false;
    }
    return true;
}

/* ---- statements ---- */

static bool resolve_block(ms_resolver *r, const ms_text_block *block);

static uint32_t slot_of(const ms_resolver *r, const char *name)
{
    uint32_t i = 0;
    while (i < r->function->slot_count && strcmp(r->names[i], name) != 0)
        i++;
    return i;
}

static bool is_tensor(ms_resolver *r, ms_text_node *node, uint32_t wanted)
{
    const ms_family_type type = ms_resolve(r, node, wanted);
    if (type == MS_TYPE_NUMBER || type == MS_TYPE_MODULE)
        ms_family_fail(r->reading, node, "a tensor is wanted here");
    return r->reading->status == MS_OK;
}

/* a, b = c, d: as many values as names */
static bool resolve_values(ms_resolver *r, ms_text_node *value, uint32_t wanted)
{
    if (value->kind != MS_NODE_TUPLE)
        return is_tensor(r, value, wanted);
    if (value->count != wanted) {
        ms_family_fail(r->reading, value, "%u values for %u names", value->count, wanted);
        return false;
    }
    for (uint32_t i = 0; i < value->count; i++)
        if (!is_tensor(r, value->items[i], 1))
            return false;
    return true;
}

/* name = dict(a=x, b=y), name = f(x): the statement becomes an assignment of several slots. */
static bool resolve_several(ms_resolver *r, ms_text_statement *s)
{
    const uint32_t count = values_of(r, s->value);
    ms_text_node *name = s->targets[0];
    if (count > MS_FAMILY_NAMES) {
        ms_family_fail(r->reading, name, "too many values");
        return false;
    }
    uint32_t place;
    if (slot_of(r, name->text) < r->function->slot_count ||
        is_argument(r->function, name->text, &place)) {
        ms_family_fail(r->reading, name,
                       "'%.40s' is one value elsewhere in this function, and %u here", name->text,
                       count);
        return false;
    }
    if (is_dict(s->value)) {
        s->value->kind = MS_NODE_TUPLE;
        s->value->items++;
        s->value->count--;
    }
    if (!resolve_values(r, s->value, count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const char *slot = ms_arena_printf(r->reading->arena, "%s[%u]", name->text, i);
        s->targets[i] = ms_family_node(r->reading, MS_NODE_LOCAL, name);
        if (!slot || !s->targets[i])
            return false;
        s->targets[i]->index = slot_of(r, slot);
    }
    s->target_count = count;
    return true;
}

static bool resolve_assignment(ms_resolver *r, ms_text_statement *s)
{
    if (keeps_several(r, s))
        return resolve_several(r, s);
    if (!resolve_values(r, s->value, s->target_count))
        return false;
    for (uint32_t i = 0; i < s->target_count; i++) {
        s->targets[i]->kind = MS_NODE_LOCAL;
        s->targets[i]->index = slot_of(r, s->targets[i]->text);
    }
    return true;
}

static bool resolve_for(ms_resolver *r, const ms_text_statement *s)
{
    uint32_t place;
    if (r->loop) {
        ms_family_fail(r->reading, s->place, "a loop within a loop is not read");
        return false;
    }
    if (is_argument(r->function, s->targets[0]->text, &place)) {
        ms_family_fail(r->reading, s->targets[0], "this name is an argument's");
        return false;
    }
    const bool is_field =
        ms_resolve(r, s->value, 1) == MS_TYPE_MODULE && s->value->kind == MS_NODE_FIELD && r->klass;
    const ms_text_node *list = is_field ? r->klass->fields[s->value->index].value : NULL;
    if (!list || list->kind != MS_NODE_COMPREHENSION) {
        ms_family_fail(r->reading, s->value, "a loop goes over a list of modules, as self.layers");
        return false;
    }
    r->loop = s->targets[0]->text;
    r->list = list;
    const bool is_resolved = resolve_block(r, &s->body);
    r->loop = NULL;
    return is_resolved;
}

static bool resolve_statement(ms_resolver *r, ms_text_statement *s)
{
    switch (s->kind) {
    case MS_STATEMENT_ASSIGN:
        return resolve_assignment(r, s);
    case MS_STATEMENT_CALL:
        return is_tensor(r, s->value, 0);
    case MS_STATEMENT_RETURN:
        return resolve_values(r, s->value, r->function->results);
    case MS_STATEMENT_IF:
        return ms_resolve_number(r, s->value) && resolve_block(r, &s->body) &&
               resolve_block(r, &s->other);
    case MS_STATEMENT_FOR:
        return resolve_for(r, s);
    case MS_STATEMENT_PASS:
        return true;
    case MS_STATEMENT_ASSERT:
    case MS_STATEMENT_DEF:
    case MS_STATEMENT_CLASS:
    case MS_STATEMENT_IMPORT:
        break;
    }
    ms_family_fail(r->reading, s->place, "this statement has no place in a function");
    return false;
}

static bool resolve_block(ms_resolver *r, const ms_text_block *block)
{
    for (uint32_t i = 0; i < block->count; i++)
        if (!resolve_statement(r, block->items[i]))
            return false;
    return true;
}

bool ms_resolve_function(ms_resolver *r, ms_family_function *f)
{
    r->function = f;
    r->loop = NULL;
    f->slot_count = 0;
    const bool is_resolved =
        add_parameters(r) && collect(r, &f->text->body) && resolve_block(r, &f->text->body);
    r->function = NULL;
    return is_resolved && r->reading->status == MS_OK;
}
