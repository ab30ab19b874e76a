/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/resolve.h"

#include <string.h>

#include "model/evaluator/primitive.h"

/* ---- slots: names in the order in which they are bound first, as in Python ---- */

static bool is_argument(const ms_family_function *f, const char *name)
{
    for (uint32_t i = 0; i < f->parameter_count; i++)
        if (strcmp(f->parameters[i], name) == 0)
            return true;
    return false;
}

static bool add_slot(ms_resolver *r, const ms_text_node *node, const char *name)
{
    ms_family_function *f = r->function;
    for (uint32_t i = 0; i < f->slot_count; i++)
        if (strcmp(r->names[i], name) == 0)
            return true;
    if (f->slot_count == MS_FAMILY_SLOTS) {
        ms_family_fail(r->reading, node, "a function may have at most %d local names",
                       MS_FAMILY_SLOTS);
        return false;
    }
    r->names[f->slot_count++] = name;
    return true;
}

/* enumerate(x) */
static bool is_enumerate(const ms_text_node *node)
{
    return node->kind == MS_NODE_CALL && node->count == 2 && node->items[0]->kind == MS_NODE_NAME &&
           strcmp(node->items[0]->text, "enumerate") == 0;
}

/* The field that has the list of layers which a loop goes over; NULL: it goes over other values. */
static const ms_text_node *list_of(const ms_resolver *r, const ms_text_node *node)
{
    if (is_enumerate(node))
        node = node->items[1];
    const bool is_member = node->kind == MS_NODE_MEMBER && node->items[0]->kind == MS_NODE_NAME &&
                           strcmp(node->items[0]->text, "self") == 0;
    const uint32_t field = is_member ? ms_class_field(r->klass, node->text) : MS_FAMILY_FIELDS;
    const ms_text_node *value = field < MS_FAMILY_FIELDS ? r->klass->fields[field].value : NULL;
    return value && value->kind == MS_NODE_COMPREHENSION && ms_made_class(value) ? value : NULL;
}

/* Names that comprehensions in an expression bind. */
static bool collect_bound(ms_resolver *r, const ms_text_node *node)
{
    if (!node)
        return true;
    if (node->kind == MS_NODE_COMPREHENSION && !add_slot(r, node, node->text))
        return false;
    for (uint32_t i = 0; i < node->count; i++)
        if (!collect_bound(r, node->items[i]))
            return false;
    return true;
}

static bool collect(ms_resolver *r, const ms_text_block *block)
{
    for (uint32_t i = 0; i < block->count; i++) {
        const ms_text_statement *s = block->items[i];
        const bool is_loop = s->kind == MS_STATEMENT_FOR;
        const bool of_layers = is_loop && list_of(r, s->value);
        const uint32_t bound = of_layers                                   ? s->target_count - 1
                               : is_loop || s->kind == MS_STATEMENT_ASSIGN ? s->target_count
                                                                           : 0;
        if (!collect_bound(r, s->value))
            return false;
        for (uint32_t k = 0; k < bound; k++)
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
        const bool has_targets = s->kind == MS_STATEMENT_ASSIGN || s->kind == MS_STATEMENT_FOR ||
                                 s->kind == MS_STATEMENT_DELETE;
        for (uint32_t k = 0; has_targets && k < s->target_count; k++)
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
        if (i > 0 && !f->is_plain && !binds(&f->text->body, f->parameters[i]))
            continue;
        f->slots[i] = (uint8_t)f->slot_count;
        if (!add_slot(r, f->text->place, f->parameters[i]))
            return false;
    }
    return true;
}

/* ---- statements ---- */

static bool resolve_block(ms_resolver *r, const ms_text_block *block);

static bool resolve_value(ms_resolver *r, ms_text_node *node, uint32_t wanted)
{
    return ms_resolve(r, node, wanted) != MS_TYPE_WRONG && r->reading->status == MS_OK;
}

static void set_targets(const ms_resolver *r, const ms_text_statement *s, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        s->targets[i]->index = ms_resolver_slot(r, s->targets[i]->text);
        s->targets[i]->kind = MS_NODE_LOCAL;
    }
}

/* a, b = c, d: as many values as names */
static bool resolve_assignment(ms_resolver *r, const ms_text_statement *s)
{
    bool has_stars = false;
    for (uint32_t i = 0; s->value->kind == MS_NODE_TUPLE && i < s->value->count; i++)
        has_stars |= s->value->items[i]->kind == MS_NODE_STAR;
    if (s->unpacks && s->value->kind == MS_NODE_TUPLE && !has_stars &&
        s->value->count != s->target_count) {
        ms_family_fail(r->reading, s->value, "%u values for %u names", s->value->count,
                       s->target_count);
        return false;
    }
    if (!resolve_value(r, s->value, s->target_count))
        return false;
    set_targets(r, s, s->target_count);
    return true;
}

/* for layer in self.layers; for i, layer in enumerate(self.layers) */
static bool resolve_for_layers(ms_resolver *r, ms_text_statement *s, const ms_text_node *list)
{
    const bool is_counted = is_enumerate(s->value);
    const ms_text_node *name = s->targets[s->target_count - 1];
    if (r->loop) {
        ms_family_fail(r->reading, s->place,
                       "a loop over layers inside a loop over layers is not supported");
        return false;
    }
    if (s->target_count != (is_counted ? 2 : 1)) {
        ms_family_fail(r->reading, name, "expected %s", is_counted ? "two names" : "one name");
        return false;
    }
    if (is_argument(r->function, name->text)) {
        ms_family_fail(r->reading, name, "this name is an argument's");
        return false;
    }
    if (is_counted)
        s->value = s->value->items[1];
    if (!resolve_value(r, s->value, 1))
        return false;
    set_targets(r, s, is_counted);
    s->of_layers = true;
    r->loop = name->text;
    r->list = list;
    const bool is_resolved = resolve_block(r, &s->body);
    r->loop = NULL;
    return is_resolved;
}

static bool resolve_for(ms_resolver *r, ms_text_statement *s)
{
    const ms_text_node *list = list_of(r, s->value);
    if (list)
        return resolve_for_layers(r, s, list);
    if (!resolve_value(r, s->value, 1))
        return false;
    set_targets(r, s, s->target_count);
    return resolve_block(r, &s->body);
}

/* with torch.no_grad(), with torch.autocast(..., enabled=False) */
static bool resolve_with(ms_resolver *r, const ms_text_statement *s)
{
    const ms_text_node *called = s->value->kind == MS_NODE_CALL ? s->value->items[0] : NULL;
    const char *name = called && called->text ? called->text : "";
    const ms_text_node *last = called ? s->value->items[s->value->count - 1] : NULL;
    if (strcmp(name, "no_grad") == 0)
        s->value->index = MS_WITH_NO_GRAD;
    else if ((strcmp(name, "autocast") == 0 || strcmp(name, "maybe_autocast") == 0) &&
             last->keyword && strcmp(last->keyword, "enabled") == 0 &&
             last->kind == MS_NODE_TRUTH && last->number < 1)
        s->value->index = MS_WITH_NO_AUTOCAST;
    else
        ms_family_fail(
            r->reading, s->value,
            "only with torch.no_grad() and with torch.autocast(..., enabled=False) are supported");
    return r->reading->status == MS_OK && resolve_block(r, &s->body);
}

static bool resolve_statement(ms_resolver *r, ms_text_statement *s)
{
    switch (s->kind) {
    case MS_STATEMENT_ASSIGN:
        return resolve_assignment(r, s);
    case MS_STATEMENT_SET:
    case MS_STATEMENT_ADD:
        return resolve_value(r, s->value, 1) && resolve_value(r, s->targets[0], 1);
    case MS_STATEMENT_CALL:
        return resolve_value(r, s->value, 0);
    case MS_STATEMENT_RETURN:
        return resolve_value(r, s->value, 1);
    case MS_STATEMENT_IF:
        return resolve_value(r, s->value, 1) && resolve_block(r, &s->body) &&
               resolve_block(r, &s->other);
    case MS_STATEMENT_FOR:
        return resolve_for(r, s);
    case MS_STATEMENT_WITH:
        return resolve_with(r, s);
    case MS_STATEMENT_DELETE:
        for (uint32_t i = 0; i < s->target_count; i++)
            if (!resolve_value(r, s->targets[i], 1) || s->targets[i]->kind != MS_NODE_LOCAL) {
                ms_family_fail(r->reading, s->targets[i], "expected a local name");
                return false;
            }
        return true;
    case MS_STATEMENT_PASS:
    case MS_STATEMENT_BREAK:
    case MS_STATEMENT_CONTINUE:
        return true;
    case MS_STATEMENT_ASSERT:
    case MS_STATEMENT_DEF:
    case MS_STATEMENT_CLASS:
    case MS_STATEMENT_IMPORT:
        break;
    }
    ms_family_fail(r->reading, s->place, "this statement is not allowed in a function");
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
