/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/resolve.h"

#include <string.h>

#include "model/evaluator/primitive.h"

/* ---- calls ---- */

/* ---- calls ---- */

/* The place of a parameter among names with blanks between; -1: none. */
static int parameter_of(const char *names, const char *wanted)
{
    const size_t length = strlen(wanted);
    int place = 0;
    for (const char *name = names; *name; place++) {
        const size_t n = strcspn(name, " ");
        if (n == length && memcmp(name, wanted, n) == 0)
            return place;
        name += n + (name[n] == ' ');
    }
    return -1;
}

static bool is_typed(ms_resolver *r, ms_text_node *node, char type)
{
    if (type == 'p')
        return true; /* build.c follows it */
    const ms_family_type found = ms_resolve(r, node, 1);
    if (found == MS_TYPE_WRONG)
        return false;
    if (type == 'c' && (node->kind != MS_NODE_NUMBER || node->number > 3))
        ms_family_fail(r->reading, node, "a dimension from 0 to 3 is wanted here");
    else if (type == 'l' && node->kind != MS_NODE_LOCAL)
        ms_family_fail(r->reading, node, "a local name is wanted here");
    else if (type == 't' && found != MS_TYPE_TENSOR && found != MS_TYPE_NONE)
        ms_family_fail(r->reading, node, "a tensor is wanted here");
    else if ((type == 'd' || type == 'n') && found != MS_TYPE_NUMBER)
        ms_family_fail(r->reading, node, "a number is wanted here");
    return r->reading->status == MS_OK;
}

/* The type of parameter `place`; '\0': there is none. *is_optional: it stands behind |. */
static char type_at(const char *types, uint32_t place, bool *is_optional)
{
    const char *bar = strchr(types, '|');
    const uint32_t required = bar ? (uint32_t)(bar - types) : (uint32_t)strlen(types);
    *is_optional = place >= required;
    return place < required                   ? types[place]
           : bar && place < strlen(types) - 1 ? types[place + 1]
                                              : '\0';
}

/* Orders the arguments of a call by the row's parameters. */
bool ms_resolve_arguments(ms_resolver *r, ms_text_node *node, const ms_primitive *row)
{
    ms_text_node *ordered[MS_FAMILY_NAMES] = {0};
    uint32_t count = 0;
    bool is_optional;
    for (uint32_t i = 1; i < node->count; i++) {
        ms_text_node *item = node->items[i];
        const int place = item->keyword ? parameter_of(row->parameters, item->keyword) : (int)i - 1;
        const char type = place < 0 ? '\0' : type_at(row->types, (uint32_t)place, &is_optional);
        if (!type || ordered[place]) {
            ms_family_fail(r->reading, item, "%s takes no such argument: it has (%s)", row->name,
                           row->parameters);
            return false;
        }
        if (!is_typed(r, item, type))
            return false;
        ordered[place] = item;
    }
    for (; type_at(row->types, count, &is_optional) != '\0'; count++)
        if (!ordered[count] && !is_optional) {
            ms_family_fail(r->reading, node, "%s lacks an argument: it has (%s)", row->name,
                           row->parameters);
            return false;
        }
    node->items = ms_arena_array(r->reading->arena, ms_text_node *, count + 1);
    if (!node->items) {
        ms_family_fail(r->reading, node, "out of memory");
        return false;
    }
    memcpy(node->items, ordered, count * sizeof *ordered);
    node->count = count;
    node->primitive = row;
    node->kind = MS_NODE_PRIMITIVE;
    return true;
}

static ms_family_type check_results(ms_resolver *r, const ms_text_node *node, uint32_t results,
                                    uint32_t wanted)
{
    if (results == wanted || results == MS_RESULTS_WANTED || wanted == 0)
        return MS_TYPE_TENSOR;
    ms_family_fail(r->reading, node, "this has %u results, and %u are bound", results, wanted);
    return MS_TYPE_WRONG;
}

/* The class of the modules that a field's value makes; with several, their calls are alike. NULL:
 * none. */
const ms_family_class *ms_made_class(const ms_text_node *value)
{
    if (value->kind == MS_NODE_CLASS)
        return value->klass;
    if (value->kind == MS_NODE_COMPREHENSION)
        return ms_made_class(value->items[0]);
    if (value->kind != MS_NODE_CHOICE)
        return NULL;
    const ms_family_class *first = ms_made_class(value->items[0]);
    return first ? first : ms_made_class(value->items[2]);
}

/* Finds the parameter of each argument of a call of `callee`. */
static bool place_arguments(ms_resolver *r, ms_text_node *node, const ms_family_function *callee)
{
    uint8_t *places = ms_arena_array(r->reading->arena, uint8_t, node->count + 1);
    bool is_given[MS_FAMILY_NAMES] = {0};
    if (!places) {
        ms_family_fail(r->reading, node, "out of memory");
        return false;
    }
    for (uint32_t i = 1; i < node->count; i++) {
        ms_text_node *item = node->items[i];
        uint32_t place = i - 1;
        if (item->keyword)
            for (place = 0; place < callee->parameter_count; place++)
                if (strcmp(callee->parameters[place], item->keyword) == 0)
                    break;
        if (place >= callee->parameter_count || is_given[place]) {
            ms_family_fail(r->reading, item, "'%.40s' has no such parameter", callee->name);
            return false;
        }
        is_given[place] = true;
        places[i] = (uint8_t)place;
        if (!is_typed(r, item, 't'))
            return false;
    }
    for (uint32_t i = 0; i < callee->parameter_count; i++)
        if (!is_given[i] && !callee->has_default[i]) {
            ms_family_fail(r->reading, node, "the argument '%.40s' is missing",
                           callee->parameters[i]);
            return false;
        }
    node->places = places;
    return true;
}

/* A call of a module that a class of the text describes. */
static ms_family_type resolve_module(ms_resolver *r, ms_text_node *node, const ms_text_node *value,
                                     uint32_t wanted)
{
    const ms_family_class *klass = value ? ms_made_class(value) : NULL;
    const ms_family_function *callee = ms_class_find(klass, "forward");
    if (!callee) {
        ms_family_fail(r->reading, node, klass ? "%s has no forward" : "this cannot be called%s",
                       klass ? klass->name : "");
        return MS_TYPE_WRONG;
    }
    if (!place_arguments(r, node, callee))
        return MS_TYPE_WRONG;
    node->kind = MS_NODE_MODULE;
    return check_results(r, node, callee->results, wanted);
}

/* A call of a field that a row made: self.q_proj(x). */
static ms_family_type resolve_part(ms_resolver *r, ms_text_node *node, const ms_primitive *row,
                                   uint32_t wanted)
{
    const size_t takes = strlen(row->call_types);
    if (node->count - 1 != takes) {
        ms_family_fail(r->reading, node, "a call of %s takes %zu tensor%s", row->name, takes,
                       takes == 1 ? "" : "s");
        return MS_TYPE_WRONG;
    }
    for (uint32_t i = 1; i < node->count; i++)
        if (!is_typed(r, node->items[i], 't'))
            return MS_TYPE_WRONG;
    node->kind = MS_NODE_MODULE;
    node->primitive = row;
    return check_results(r, node, row->results, wanted);
}

/* The first row that makes what is in a field; NULL: a class does. */
static const ms_primitive *made_row(const ms_text_node *value)
{
    if (value->kind == MS_NODE_PRIMITIVE)
        return value->primitive;
    if (value->kind != MS_NODE_CHOICE)
        return NULL;
    const ms_primitive *first = made_row(value->items[0]);
    return first ? first : made_row(value->items[2]);
}

static ms_family_type resolve_called_member(ms_resolver *r, ms_text_node *node, uint32_t wanted)
{
    ms_text_node *called = node->items[0];
    if (ms_resolve(r, called, 1) == MS_TYPE_WRONG)
        return MS_TYPE_WRONG;
    if (called->kind == MS_NODE_OBJECT)
        return resolve_module(r, node, r->list, wanted);
    if (called->kind != MS_NODE_FIELD) {
        ms_family_fail(r->reading, called, "this cannot be called");
        return MS_TYPE_WRONG;
    }
    const ms_text_node *value = r->klass->fields[called->index].value;
    const ms_primitive *row = made_row(value);
    return row && row->call ? resolve_part(r, node, row, wanted)
                            : resolve_module(r, node, value, wanted);
}

static ms_family_type resolve_call(ms_resolver *r, ms_text_node *node, uint32_t wanted)
{
    const ms_text_node *called = node->items[0];
    const bool is_loop = called->kind == MS_NODE_NAME && r->loop && !strcmp(called->text, r->loop);
    if (called->kind != MS_NODE_NAME || is_loop)
        return resolve_called_member(r, node, wanted);
    const ms_primitive *row = r->function ? ms_primitive_find(called->text, false) : NULL;
    if (!row)
        return ms_resolve_unknown(r, called, true);
    const uint32_t results = row->results;
    return ms_resolve_arguments(r, node, row) ? check_results(r, node, results, wanted)
                                              : MS_TYPE_WRONG;
}

/* ---- operators ---- */

static bool is_arithmetic(ms_node_kind kind)
{
    return kind >= MS_NODE_ADD && kind <= MS_NODE_NEGATIVE;
}

/* Tensors are added, subtracted, multiplied and divided, by tensors or numbers. */
static ms_family_type of_tensors(ms_resolver *r, const ms_text_node *node,
                                 const ms_family_type *types)
{
    if (node->kind < MS_NODE_ADD || node->kind > MS_NODE_DIVIDE) {
        ms_family_fail(r->reading, node, "tensors have no such operator");
        return MS_TYPE_WRONG;
    }
    if (types[0] == MS_TYPE_TENSOR && (types[1] == MS_TYPE_TENSOR || types[1] == MS_TYPE_NUMBER))
        return MS_TYPE_TENSOR;
    if (types[0] == MS_TYPE_NUMBER && types[1] == MS_TYPE_TENSOR && node->kind != MS_NODE_DIVIDE &&
        node->kind != MS_NODE_SUBTRACT)
        return MS_TYPE_TENSOR;
    ms_family_fail(r->reading, node, "this operator does not take these operands");
    return MS_TYPE_WRONG;
}

static ms_family_type resolve_operator(ms_resolver *r, ms_text_node *node)
{
    ms_family_type types[2] = {MS_TYPE_NUMBER, MS_TYPE_NUMBER};
    for (uint32_t i = 0; i < node->count && i < 2; i++) {
        types[i] = ms_resolve(r, node->items[i], 1);
        if (types[i] == MS_TYPE_WRONG)
            return MS_TYPE_WRONG;
    }
    if (types[0] == MS_TYPE_NUMBER && types[1] == MS_TYPE_NUMBER)
        return MS_TYPE_NUMBER;
    if (is_arithmetic(node->kind))
        return of_tensors(r, node, types);
    ms_family_fail(r->reading, node, "numbers and truths are wanted here");
    return MS_TYPE_WRONG;
}

static ms_family_type resolve_choice(ms_resolver *r, ms_text_node *node, uint32_t wanted)
{
    if (!ms_resolve_number(r, node->items[1]))
        return MS_TYPE_WRONG;
    const ms_family_type first = ms_resolve(r, node->items[0], wanted);
    const ms_family_type second = first ? ms_resolve(r, node->items[2], wanted) : MS_TYPE_WRONG;
    if (first == MS_TYPE_WRONG || second == MS_TYPE_WRONG)
        return MS_TYPE_WRONG;
    const bool first_is_tensor = first == MS_TYPE_TENSOR || first == MS_TYPE_NONE;
    const bool second_is_tensor = second == MS_TYPE_TENSOR || second == MS_TYPE_NONE;
    if (first == second || (first_is_tensor && second_is_tensor))
        return first == MS_TYPE_NONE ? second : first;
    ms_family_fail(r->reading, node, "both values of a condition are tensors, or both are numbers");
    return MS_TYPE_WRONG;
}

static ms_family_type resolve(ms_resolver *r, ms_text_node *node, uint32_t wanted)
{
    switch ((int)node->kind) {
    case MS_NODE_NUMBER:
    case MS_NODE_TRUTH:
    case MS_NODE_KEY:
    case MS_NODE_FACT:
        return MS_TYPE_NUMBER;
    case MS_NODE_NONE:
        return MS_TYPE_NONE;
    case MS_NODE_NAME:
        return ms_resolve_name(r, node);
    case MS_NODE_MEMBER:
        return ms_resolve_member(r, node);
    case MS_NODE_CALL:
        return resolve_call(r, node, wanted);
    case MS_NODE_CHOICE:
        return resolve_choice(r, node, wanted);
    default:
        break;
    }
    if (node->kind >= MS_NODE_ADD && node->kind <= MS_NODE_OR)
        return resolve_operator(r, node);
    ms_family_fail(r->reading, node, "this is not a value here");
    return MS_TYPE_WRONG;
}

ms_family_type ms_resolve(ms_resolver *r, ms_text_node *node, uint32_t wanted)
{
    const ms_family_type type = resolve(r, node, wanted);
    node->is_number = type == MS_TYPE_NUMBER;
    return type;
}

bool ms_resolve_number(ms_resolver *r, ms_text_node *node)
{
    const ms_family_type type = ms_resolve(r, node, 1);
    if (type != MS_TYPE_NUMBER && type != MS_TYPE_WRONG)
        ms_family_fail(r->reading, node, "a number or a truth is wanted here");
    return type == MS_TYPE_NUMBER;
}
