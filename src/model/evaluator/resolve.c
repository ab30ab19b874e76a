/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/resolve.h"

#include <string.h>

#include "base/text/nearest.h"
#include "model/evaluator/primitive.h"
#include "model/evaluator/syntax/parser.h"

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

static ms_family_type resolve_function(ms_resolver *r, ms_text_node *node,
                                       ms_family_function *callee);

/* A call of a function of the text, where a module is made. */
static bool is_made(ms_resolver *r, ms_text_node *node)
{
    const bool is_call = node->kind == MS_NODE_CALL && node->items[0]->kind == MS_NODE_NAME;
    ms_family_function *callee =
        is_call ? ms_class_find(&r->text->functions, node->items[0]->text) : NULL;
    if (!callee)
        ms_family_fail(r->reading, node, "expected a call of a function of the text");
    return callee && resolve_function(r, node, callee) != MS_TYPE_WRONG;
}

static bool is_typed(ms_resolver *r, ms_text_node *node, char type)
{
    if (type == 'p')
        return true; /* build.c follows it */
    if (type == 'f')
        return is_made(r, node);
    const ms_family_type found = ms_resolve(r, node, 1);
    if (found == MS_TYPE_WRONG)
        return false;
    if (type == 'c' && (node->kind != MS_NODE_NUMBER || node->number > 3))
        ms_family_fail(r->reading, node, "expected a dimension from 0 to 3");
    else if (type == 'l' && node->kind != MS_NODE_LOCAL)
        ms_family_fail(r->reading, node, "expected a local name");
    else if (type == 't' && (found == MS_TYPE_NUMBER || found == MS_TYPE_MODULE))
        ms_family_fail(r->reading, node, "expected a tensor");
    else if ((type == 'd' || type == 'n') && found != MS_TYPE_NUMBER && found != MS_TYPE_ANY)
        ms_family_fail(r->reading, node, "expected a number");
    else if ((type == 'd' || type == 'n') && found == MS_TYPE_ANY && !r->function)
        ms_family_fail(r->reading, node, "expected a number of the config");
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

/* The place of a parameter that takes all arguments that are left; -1: there is none. */
static int rest_of(const char *names)
{
    const char *star = strchr(names, '*');
    int place = star ? 0 : -1;
    for (const char *c = names; star && c < star; c++)
        place += *c == ' ';
    return place;
}

/* One argument more of those that are left: the second makes a tuple of them. */
static bool add_rest(ms_resolver *r, ms_text_node **rest, ms_text_node *item)
{
    if (!*rest && item->kind != MS_NODE_STAR) {
        *rest = item;
        return true;
    }
    if (!*rest || (*rest)->kind != MS_NODE_TUPLE || (*rest)->index == 0) {
        ms_text_node *tuple = ms_family_node(r->reading, MS_NODE_TUPLE, item);
        if (!tuple || (*rest && !ms_node_add(r->reading, tuple, *rest)))
            return false;
        tuple->index = 1;
        *rest = tuple;
    }
    return ms_node_add(r->reading, *rest, item);
}

/* Orders the arguments of a call by the row's parameters. */
bool ms_resolve_arguments(ms_resolver *r, ms_text_node *node, const ms_primitive *row)
{
    ms_text_node *ordered[MS_FAMILY_NAMES] = {0};
    const int rest = rest_of(row->parameters);
    uint32_t count = 0;
    bool is_optional;
    for (uint32_t i = 1; i < node->count; i++) {
        ms_text_node *item = node->items[i];
        int place = item->keyword ? parameter_of(row->parameters, item->keyword) : (int)i - 1;
        if (rest >= 0 && !item->keyword && place >= rest)
            place = rest;
        const char type = place < 0 ? '\0' : type_at(row->types, (uint32_t)place, &is_optional);
        if (!type || (ordered[place] && place != rest)) {
            ms_family_fail(r->reading, item, "%s takes no such argument: its arguments are (%s)",
                           row->name, row->parameters);
            return false;
        }
        if (!is_typed(r, item, type))
            return false;
        if (place != rest)
            ordered[place] = item;
        else if (!add_rest(r, &ordered[place], item))
            return false;
    }
    for (; type_at(row->types, count, &is_optional) != '\0'; count++)
        if (!ordered[count] && !is_optional) {
            ms_family_fail(r->reading, node, "%s lacks an argument: its arguments are (%s)",
                           row->name, row->parameters);
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
    if (results == wanted || wanted == 0)
        return MS_TYPE_TENSOR;
    if (wanted == 1 || results == MS_RESULTS_WANTED)
        return MS_TYPE_ANY; /* a tuple of them */
    ms_family_fail(r->reading, node, "this has %u result%s, but %u are assigned", results,
                   results == 1 ? "" : "s", wanted);
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
            char at[256];
            ms_family_fail(r->reading, item, "'%.40s' has no such parameter%s", callee->name,
                           ms_users_place(callee->text->place, at, sizeof at));
            return false;
        }
        is_given[place] = true;
        places[i] = (uint8_t)place;
        if (item->kind == MS_NODE_STAR) {
            ms_family_fail(r->reading, item,
                           "arguments of the text's own functions must be given one by one");
            return false;
        }
        if (!is_typed(r, item, 'v'))
            return false;
    }
    for (uint32_t i = 0; i < callee->parameter_count; i++)
        if (!is_given[i] && !callee->has_default[i]) {
            char at[256];
            ms_family_fail(r->reading, node, "the argument '%.40s' is missing%s",
                           callee->parameters[i],
                           ms_users_place(callee->text->place, at, sizeof at));
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
    return callee->results > 1 && wanted > 1 ? check_results(r, node, callee->results, wanted)
                                             : MS_TYPE_ANY;
}

/* A call of a function of the text, or of another one of the same class. */
static ms_family_type resolve_function(ms_resolver *r, ms_text_node *node,
                                       ms_family_function *callee)
{
    if (!place_arguments(r, node, callee))
        return MS_TYPE_WRONG;
    callee->is_called = true;
    node->kind = MS_NODE_FUNCTION;
    node->function = callee;
    return MS_TYPE_ANY;
}

/* A call of a value that has a module: of a loop over modules, of a list of them. */
static ms_family_type resolve_value_call(ms_resolver *r, ms_text_node *node)
{
    if (node->count > MS_FAMILY_NAMES) {
        ms_family_fail(r->reading, node, "too many arguments");
        return MS_TYPE_WRONG;
    }
    for (uint32_t i = 1; i < node->count; i++)
        if (!is_typed(r, node->items[i], 'v'))
            return MS_TYPE_WRONG;
    node->kind = MS_NODE_CALLED;
    return MS_TYPE_ANY;
}

/* A call of a field that a row made: self.q_proj(x). */
static ms_family_type resolve_part(ms_resolver *r, ms_text_node *node, const ms_primitive *row,
                                   const ms_text_node *value, uint32_t wanted)
{
    const size_t takes = strlen(row->call_types);
    const ms_family_class *other = ms_made_class(value); /* where a condition decides */
    const ms_family_function *callee = other ? ms_class_find(other, "forward") : NULL;
    if (other && (!callee || callee->parameter_count != takes || callee->results != row->results)) {
        ms_family_fail(r->reading, node, "%s and %s are called in other ways", row->name,
                       other->name);
        return MS_TYPE_WRONG;
    }
    if (node->count - 1 != takes) {
        ms_family_fail(r->reading, node, "a call of %s takes %zu tensor%s", row->name, takes,
                       takes == 1 ? "" : "s");
        return MS_TYPE_WRONG;
    }
    if (callee && !place_arguments(r, node, callee))
        return MS_TYPE_WRONG;
    for (uint32_t i = 1; !callee && i < node->count; i++)
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

static bool is_name(const ms_text_node *node, const char *name)
{
    return node->kind == MS_NODE_NAME && strcmp(node->text, name) == 0;
}

/* torch, torch.nn.functional, F: what stands behind such a name is a function of PyTorch. */
static bool is_library(const ms_text_node *node)
{
    if (node->kind == MS_NODE_MEMBER)
        return is_library(node->items[0]);
    return is_name(node, "torch") || is_name(node, "F") || is_name(node, "nn") ||
           is_name(node, "math");
}

/* x.view(a, b), F.silu(x): a row, whose first argument is what stands before the name. */
static ms_family_type resolve_method(ms_resolver *r, ms_text_node *node, uint32_t wanted)
{
    ms_text_node *called = node->items[0];
    const ms_primitive *row = ms_primitive_find(called->text, false);
    const bool of_library = is_library(called->items[0]);
    if (row && !row->apply && !of_library && row->types[0] != 't')
        row = NULL;
    if (!row)
        return ms_resolve_unknown(r, called, true);
    if (!of_library) {
        ms_text_node **items =
            ms_arena_array(r->reading->arena, ms_text_node *, (size_t)node->count + 1);
        if (!items) {
            ms_family_fail(r->reading, node, "out of memory");
            return MS_TYPE_WRONG;
        }
        items[0] = called;
        items[1] = called->items[0];
        memcpy(items + 2, node->items + 1, (node->count - 1) * sizeof *items);
        node->items = items;
        node->count++;
    }
    if (!ms_resolve_arguments(r, node, row))
        return MS_TYPE_WRONG;
    return row->apply ? MS_TYPE_ANY : check_results(r, node, row->results, wanted);
}

/* self.FIELD.NAME of a module of the text: its own function; NULL: there is none such. */
static ms_family_function *function_of_field(const ms_resolver *r, const ms_text_node *called)
{
    const ms_text_node *of = called->items[0];
    const bool is_field = of->kind == MS_NODE_MEMBER && is_name(of->items[0], "self");
    const uint32_t field = is_field ? ms_class_field(r->klass, of->text) : MS_FAMILY_FIELDS;
    const ms_text_node *value = field < MS_FAMILY_FIELDS ? r->klass->fields[field].value : NULL;
    const ms_family_class *klass =
        value && value->kind != MS_NODE_COMPREHENSION ? ms_made_class(value) : NULL;
    ms_family_function *callee = ms_class_find(klass, called->text);
    return callee && callee->is_plain ? callee : NULL;
}

/* self.embeddings.words: a field of a field's class. */
static bool is_part(const ms_resolver *r, const ms_text_node *node)
{
    const ms_text_node *of = node->items[0];
    if (of->kind != MS_NODE_MEMBER || !is_name(of->items[0], "self"))
        return false;
    const uint32_t field = ms_class_field(r->klass, of->text);
    const ms_family_class *klass =
        field < MS_FAMILY_FIELDS ? ms_made_class(r->klass->fields[field].value) : NULL;
    return klass && ms_class_field(klass, node->text) < MS_FAMILY_FIELDS;
}

static ms_family_type resolve_called_member(ms_resolver *r, ms_text_node *node, uint32_t wanted)
{
    ms_text_node *called = node->items[0];
    const bool is_self = called->kind == MS_NODE_MEMBER && is_name(called->items[0], "self");
    const bool is_loop = called->kind == MS_NODE_NAME && r->loop && is_name(called, r->loop);
    if (called->kind == MS_NODE_MEMBER && !is_self) {
        ms_family_function *callee = r->function ? function_of_field(r, called) : NULL;
        if (!callee && is_part(r, called))
            return ms_resolve(r, called, 1) == MS_TYPE_WRONG ? MS_TYPE_WRONG
                                                             : resolve_value_call(r, node);
        if (!callee)
            return resolve_method(r, node, wanted);
        node->items[0] = called->items[0];
        return ms_resolve(r, node->items[0], 1) == MS_TYPE_WRONG
                   ? MS_TYPE_WRONG
                   : resolve_function(r, node, callee);
    }
    if (is_self && r->function && ms_class_field(r->klass, called->text) == MS_FAMILY_FIELDS) {
        ms_family_function *callee = ms_class_find(r->klass, called->text);
        if (callee)
            return resolve_function(r, node, callee);
    }
    if (ms_resolve(r, called, 1) == MS_TYPE_WRONG)
        return MS_TYPE_WRONG;
    if (is_loop)
        return resolve_module(r, node, r->list, wanted);
    if (called->kind != MS_NODE_FIELD)
        return resolve_value_call(r, node);
    const ms_text_node *value = r->klass->fields[called->index].value;
    if (value->kind == MS_NODE_CLASS && value->klass->is_numbered)
        return resolve_value_call(r, node);
    const ms_primitive *row = made_row(value);
    return row && row->call ? resolve_part(r, node, row, value, wanted)
                            : resolve_module(r, node, value, wanted);
}

/* dict(a=x, b=y) */
static ms_family_type resolve_dict(ms_resolver *r, ms_text_node *node)
{
    for (uint32_t i = 1; i < node->count; i++) {
        if (!node->items[i]->keyword) {
            ms_family_fail(r->reading, node->items[i], "dict(...) takes NAME=VALUE");
            return MS_TYPE_WRONG;
        }
        if (!is_typed(r, node->items[i], 'v'))
            return MS_TYPE_WRONG;
    }
    node->kind = MS_NODE_TABLE;
    node->items++;
    node->count--;
    return MS_TYPE_ANY;
}

/* {"a": x}: the same, its names become keywords. */
static ms_family_type resolve_table(ms_resolver *r, ms_text_node *node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i + 1 < node->count; i += 2) {
        ms_text_node *value = node->items[i + 1];
        if (node->items[i]->kind != MS_NODE_STRING) {
            ms_family_fail(r->reading, node->items[i], "expected a text");
            return MS_TYPE_WRONG;
        }
        if (!is_typed(r, value, 'v'))
            return MS_TYPE_WRONG;
        value->keyword = node->items[i]->text;
        node->items[count++] = value;
    }
    node->count = count;
    return MS_TYPE_ANY;
}

static bool is_local(const ms_resolver *r, const char *name)
{
    const ms_family_function *f = r->function;
    for (uint32_t i = 0; f && i < f->slot_count; i++)
        if (strcmp(r->names[i], name) == 0)
            return true;
    for (uint32_t i = 0; f && i < f->parameter_count; i++)
        if (strcmp(f->parameters[i], name) == 0)
            return true;
    return false;
}

/* A name that is called is a function of the text, then a row, then a local. */
static ms_family_type resolve_call(ms_resolver *r, ms_text_node *node, uint32_t wanted)
{
    ms_text_node *called = node->items[0];
    const bool is_loop = called->kind == MS_NODE_NAME && r->loop && !strcmp(called->text, r->loop);
    if (called->kind != MS_NODE_NAME || is_loop)
        return resolve_called_member(r, node, wanted);
    if (!r->function)
        return ms_resolve_unknown(r, called, true);
    ms_family_function *callee = ms_class_find(&r->text->functions, called->text);
    if (callee)
        return resolve_function(r, node, callee);
    const ms_primitive *row = ms_primitive_find(called->text, false);
    if (!row && is_name(called, "dict"))
        return resolve_dict(r, node);
    if (!row && is_local(r, called->text))
        return ms_resolve(r, called, 1) == MS_TYPE_WRONG ? MS_TYPE_WRONG
                                                         : resolve_value_call(r, node);
    if (!row)
        return ms_resolve_unknown(r, called, true);
    if (!ms_resolve_arguments(r, node, row))
        return MS_TYPE_WRONG;
    return row->apply ? MS_TYPE_ANY : check_results(r, node, row->results, wanted);
}

/* ---- members ---- */

static const struct {
    const char *name;
    ms_text_attribute attribute;
} attributes[] = {{"shape", MS_ATTRIBUTE_SHAPE},
                  {"dtype", MS_ATTRIBUTE_TYPE},
                  {"device", MS_ATTRIBUTE_DEVICE},
                  {"ndim", MS_ATTRIBUTE_RANK}};

static const struct {
    const char *name;
    ms_dtype dtype;
} dtypes[] = {{"float32", MS_DTYPE_F32}, {"float", MS_DTYPE_F32},    {"bfloat16", MS_DTYPE_BF16},
              {"float16", MS_DTYPE_F16}, {"float64", MS_DTYPE_F64},  {"int64", MS_DTYPE_I64},
              {"long", MS_DTYPE_I64},    {"int32", MS_DTYPE_I32},    {"int", MS_DTYPE_I32},
              {"bool", MS_DTYPE_BOOL},   {"complex64", MS_DTYPE_C64}};

/* What a value has, as x.shape; torch.float32. */
static ms_family_type resolve_attribute(ms_resolver *r, ms_text_node *node)
{
    ms_text_node *of = node->items[0];
    char hint[128];
    ms_nearest near = ms_nearest_to(node->text);
    const bool is_torch = of->kind == MS_NODE_NAME && strcmp(of->text, "torch") == 0;
    for (size_t i = 0; is_torch && i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, node->text) == 0) {
            node->kind = MS_NODE_ATTRIBUTE;
            node->index = MS_ATTRIBUTE_OF_TORCH;
            node->number = dtypes[i].dtype;
            node->count = 0;
            return MS_TYPE_ANY;
        }
    if (!r->function || is_torch || ms_resolve(r, of, 1) == MS_TYPE_WRONG) {
        ms_family_fail(r->reading, node, "only self and a loop's module have members here");
        return MS_TYPE_WRONG;
    }
    node->kind = MS_NODE_ATTRIBUTE;
    node->index = MS_ATTRIBUTE_MEMBER;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        if (strcmp(attributes[i].name, node->text) == 0)
            node->index = attributes[i].attribute;
        ms_nearest_offer(&near, attributes[i].name);
    }
    if (node->index != MS_ATTRIBUTE_MEMBER || of->kind == MS_NODE_LOCAL ||
        of->kind == MS_NODE_GIVEN || of->kind == MS_NODE_INDEX || of->kind == MS_NODE_OBJECT ||
        of->kind == MS_NODE_FIELD)
        return MS_TYPE_ANY;
    ms_family_fail(r->reading, node, "a value has no member '%.40s'%s", node->text,
                   ms_nearest_hint(&near, hint, sizeof hint));
    return MS_TYPE_WRONG;
}

/* ---- operators ---- */

static bool is_static(ms_node_kind kind)
{
    return kind < MS_NODE_POWER || (kind > MS_NODE_PRODUCT && kind < MS_NODE_IS) ||
           kind > MS_NODE_NOT_IN;
}

static ms_family_type resolve_operator(ms_resolver *r, ms_text_node *node)
{
    ms_family_type types[2] = {MS_TYPE_NUMBER, MS_TYPE_NUMBER};
    for (uint32_t i = 0; i < node->count && i < 2; i++) {
        types[i] = ms_resolve(r, node->items[i], 1);
        if (types[i] == MS_TYPE_WRONG)
            return MS_TYPE_WRONG;
    }
    if (types[0] == MS_TYPE_NUMBER && types[1] == MS_TYPE_NUMBER && is_static(node->kind))
        return MS_TYPE_NUMBER;
    if (r->function)
        return MS_TYPE_ANY;
    if ((node->kind == MS_NODE_IS || node->kind == MS_NODE_IS_NOT) && types[0] == MS_TYPE_NUMBER &&
        types[1] == MS_TYPE_NONE)
        return MS_TYPE_NUMBER;
    ms_family_fail(r->reading, node, "expected numbers and booleans of the config");
    return MS_TYPE_WRONG;
}

static ms_family_type resolve_choice(ms_resolver *r, ms_text_node *node, uint32_t wanted)
{
    const ms_family_type condition = ms_resolve(r, node->items[1], 1);
    const ms_family_type first =
        condition != MS_TYPE_WRONG ? ms_resolve(r, node->items[0], wanted) : MS_TYPE_WRONG;
    const ms_family_type second =
        first != MS_TYPE_WRONG ? ms_resolve(r, node->items[2], wanted) : MS_TYPE_WRONG;
    if (second == MS_TYPE_WRONG)
        return MS_TYPE_WRONG;
    if (condition == MS_TYPE_NUMBER && first == second)
        return first;
    if (r->function)
        return MS_TYPE_ANY;
    ms_family_fail(r->reading, node, "expected numbers and booleans of the config");
    return MS_TYPE_WRONG;
}

static ms_family_type resolve_items(ms_resolver *r, ms_text_node *node)
{
    for (uint32_t i = 0; i < node->count; i++)
        if (ms_resolve(r, node->items[i], 1) == MS_TYPE_WRONG)
            return MS_TYPE_WRONG;
    return MS_TYPE_ANY;
}

/* What only functions have. */
static ms_family_type resolve_value(ms_resolver *r, ms_text_node *node)
{
    switch (r->function ? (int)node->kind : MS_NODE_CLASS) {
    case MS_NODE_STRING:
        if (!node->is_format)
            return MS_TYPE_ANY;
        ms_family_fail(r->reading, node, "f\"...\" is the message of a check of the config");
        return MS_TYPE_WRONG;
    case MS_NODE_ELLIPSIS:
        return MS_TYPE_ANY;
    case MS_NODE_TUPLE:
    case MS_NODE_LIST:
    case MS_NODE_STAR:
    case MS_NODE_INDEX:
    case MS_NODE_SLICE:
        return resolve_items(r, node);
    case MS_NODE_TABLE:
        return resolve_table(r, node);
    case MS_NODE_COMPREHENSION:
        node->index = ms_resolver_slot(r, node->text);
        return resolve_items(r, node);
    default:
        ms_family_fail(r->reading, node, "this is not a value here");
        return MS_TYPE_WRONG;
    }
}

/* vision_config.hidden_size: a key of that object; false: it is none. */
static bool take_object_key(const ms_resolver *r, ms_text_node *node)
{
    const ms_text_node *of = node->items[0];
    for (uint32_t i = MS_OBJECT_OTHER; i < MS_FAMILY_OBJECTS && of->kind == MS_NODE_NAME; i++) {
        const ms_family_object *object = &r->text->objects[i];
        if (!object->name || strcmp(object->name, of->text) != 0)
            continue;
        node->key = ms_family_key_of(r->text, i, node->text);
        if (!node->key)
            return false;
        node->kind = MS_NODE_KEY;
        return true;
    }
    return false;
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
        if (take_object_key(r, node))
            return MS_TYPE_NUMBER;
        return ms_is_own_member(r, node) ? ms_resolve_member(r, node) : resolve_attribute(r, node);
    case MS_NODE_CALL:
        return resolve_call(r, node, wanted);
    case MS_NODE_CHOICE:
        return resolve_choice(r, node, wanted);
    default:
        break;
    }
    if (node->kind >= MS_NODE_ADD && node->kind <= MS_NODE_OR)
        return resolve_operator(r, node);
    return resolve_value(r, node);
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
        ms_family_fail(r->reading, node, "expected a number or a boolean");
    return type == MS_TYPE_NUMBER;
}
