/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "model/evaluator/shape_rules.h"

enum { MOST_STEPS = 1 << 20 };

/* A call: shapes of its locals and arguments. */
typedef struct frame {
    ms_shaping *shaping;
    const ms_family_class *klass;
    ms_text_facts facts;
    const ms_text_node *looped; /* what made the module of a loop; NULL: in none */
    ms_text_shape slots[MS_LOCALS_SLOTS];
    ms_text_shape given[MS_FAMILY_NAMES];
} frame;

typedef struct shapes {
    uint32_t count;
    ms_text_shape items[MS_FAMILY_NAMES];
} shapes;

static bool evaluate(frame *f, const ms_text_node *node, shapes *out);
static bool call(ms_shaping *s, const ms_family_class *klass, const ms_family_function *function,
                 const ms_text_facts *facts, const ms_text_shape *args, shapes *out);

/* What made a part of a layer: conditions are decided. */
static const ms_text_node *made(const ms_text_facts *facts, const ms_text_node *value)
{
    while (value->kind == MS_NODE_CHOICE)
        value = value->items[ms_family_truth(facts, value->items[1]) ? 0 : 2];
    return value;
}

static bool evaluate_one(frame *f, const ms_text_node *node, ms_text_shape *out)
{
    shapes all = {.count = 1};
    if (!evaluate(f, node, &all))
        return false;
    *out = all.items[0];
    return true;
}

static bool call_module(frame *f, const ms_text_node *node, shapes *out)
{
    const ms_text_node *called = node->items[0];
    const bool is_field = called->kind == MS_NODE_FIELD;
    ms_text_facts facts = f->facts;
    ms_text_shape args[MS_FAMILY_NAMES];
    for (uint32_t i = 0; i < MS_FAMILY_NAMES; i++)
        args[i] = (ms_text_shape){.kind = MS_SHAPED_NONE};
    if (!is_field)
        facts.layer = facts.looped;
    const ms_text_node *maker =
        is_field ? made(&f->facts, f->klass->fields[called->index].value) : made(&facts, f->looped);
    for (uint32_t i = 1; i < node->count; i++)
        if (!evaluate_one(f, node->items[i], &args[node->places ? node->places[i] : i - 1]))
            return false;
    if (maker->kind == MS_NODE_PRIMITIVE)
        return ms_shape_module(f->shaping, &facts, node, maker, args, out->items);
    if (maker->kind == MS_NODE_CLASS)
        return call(f->shaping, maker->klass, maker->klass->forward, &facts, args, out);
    ms_family_fail(f->shaping->reading, node, "this module is None here");
    return false;
}

static bool call_function(frame *f, const ms_text_node *node, shapes *out)
{
    ms_text_shape args[MS_FAMILY_NAMES] = {{0}};
    const char *types = node->primitive->types;
    for (uint32_t i = 0, k = 0; i < node->count; i++, k++) {
        k += types[k] == '|';
        if ((types[k] == 't' || types[k] == 'l') && !evaluate_one(f, node->items[i], &args[i]))
            return false;
    }
    return ms_shape_function(f->shaping, &f->facts, node, args, out->count, out->items);
}

static bool operate(frame *f, const ms_text_node *node, ms_text_shape *out)
{
    ms_text_shape sides[2];
    for (uint32_t i = 0; i < 2; i++) {
        sides[i] = (ms_text_shape){.kind = MS_SHAPED, .rank = 0};
        if (!node->items[i]->is_number && !evaluate_one(f, node->items[i], &sides[i]))
            return false;
    }
    return ms_shape_join(f->shaping, node, &sides[0], &sides[1], out);
}

/* A parameter of the module. */
static bool field_shape(frame *f, const ms_text_node *node, ms_text_shape *out)
{
    const ms_text_node *maker = made(&f->facts, f->klass->fields[node->index].value);
    *out = (ms_text_shape){.kind = MS_SHAPED_NONE};
    return maker->kind == MS_NODE_NONE ||
           ms_shape_module(f->shaping, &f->facts, node, maker, NULL, out);
}

static bool evaluate(frame *f, const ms_text_node *node, shapes *out)
{
    if (++f->shaping->steps > MOST_STEPS) {
        ms_family_fail(f->shaping->reading, node, "the model takes too many steps");
        return false;
    }
    switch ((int)node->kind) {
    case MS_NODE_LOCAL:
        out->items[0] = f->slots[node->index];
        return true;
    case MS_NODE_GIVEN:
        out->items[0] = f->given[node->index];
        return true;
    case MS_NODE_NONE:
        out->items[0] = (ms_text_shape){.kind = MS_SHAPED_NONE};
        return true;
    case MS_NODE_FIELD:
        return field_shape(f, node, &out->items[0]);
    case MS_NODE_PRIMITIVE:
        return call_function(f, node, out);
    case MS_NODE_MODULE:
        return call_module(f, node, out);
    case MS_NODE_CHOICE:
        return evaluate(f, node->items[ms_family_truth(&f->facts, node->items[1]) ? 0 : 2], out);
    default:
        return operate(f, node, &out->items[0]);
    }
}

/* ---- statements ---- */

static bool run_block(frame *f, const ms_text_block *block, shapes *returned, bool *has_ended);

static bool assign(frame *f, const ms_text_statement *s)
{
    shapes values = {.count = s->target_count};
    if (s->value->kind != MS_NODE_TUPLE) {
        if (!evaluate(f, s->value, &values))
            return false;
    } else {
        for (uint32_t i = 0; i < s->value->count; i++)
            if (!evaluate_one(f, s->value->items[i], &values.items[i]))
                return false;
    }
    for (uint32_t i = 0; i < s->target_count; i++)
        f->slots[s->targets[i]->index] = values.items[i];
    return true;
}

/* Layers of one kind and class are alike, unless the text looks at their numbers. */
static bool run_loop(frame *f, const ms_text_statement *s)
{
    const ms_text_node *list = f->klass->fields[s->value->index].value;
    const ms_model_config *config = f->facts.config;
    bool is_seen[MS_LAYER_KINDS] = {false}, has_ended = false;
    shapes none = {0};
    for (uint64_t i = 0; i < config->num_layers; i++) {
        const uint8_t kind = ms_layer_kind(config, i);
        if (is_seen[kind] && !f->shaping->text->uses_numbers)
            continue;
        is_seen[kind] = true;
        f->looped = list->items[0];
        f->facts.looped = (uint32_t)i;
        if (!run_block(f, &s->body, &none, &has_ended))
            return false;
    }
    f->looped = NULL;
    return true;
}

static bool take_results(frame *f, const ms_text_statement *s, shapes *returned)
{
    const ms_text_node *value = s->value;
    returned->count = value->kind == MS_NODE_TUPLE ? value->count : 1;
    for (uint32_t i = 0; i < returned->count; i++)
        if (!evaluate_one(f, value->kind == MS_NODE_TUPLE ? value->items[i] : value,
                          &returned->items[i]))
            return false;
    return true;
}

static bool run_block(frame *f, const ms_text_block *block, shapes *returned, bool *has_ended)
{
    shapes none = {0};
    bool is_right = true;
    for (uint32_t i = 0; i < block->count && is_right && !*has_ended; i++) {
        const ms_text_statement *s = block->items[i];
        switch ((int)s->kind) {
        case MS_STATEMENT_ASSIGN:
            is_right = assign(f, s);
            break;
        case MS_STATEMENT_CALL:
            is_right = evaluate(f, s->value, &none);
            break;
        case MS_STATEMENT_IF:
            is_right = run_block(f, ms_family_truth(&f->facts, s->value) ? &s->body : &s->other,
                                 returned, has_ended);
            break;
        case MS_STATEMENT_FOR:
            is_right = run_loop(f, s);
            break;
        case MS_STATEMENT_RETURN:
            is_right = take_results(f, s, returned);
            *has_ended = true;
            break;
        default:
            break;
        }
    }
    return is_right;
}

static bool call(ms_shaping *s, const ms_family_class *klass, const ms_family_function *function,
                 const ms_text_facts *facts, const ms_text_shape *args, shapes *out)
{
    frame f = {.shaping = s, .klass = klass, .facts = *facts};
    bool has_ended = false;
    for (uint32_t i = 0; i < function->slot_count; i++)
        f.slots[i] = (ms_text_shape){.kind = MS_SHAPED_NONE};
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        f.given[i] = args[i];
        if (i == 0 || function->slots[i])
            f.slots[function->slots[i]] = args[i];
    }
    out->count = 0;
    if (!run_block(&f, &function->text->body, out, &has_ended))
        return false;
    if (!has_ended)
        ms_family_fail(s->reading, function->text->place, "this function ends without a result");
    return has_ended;
}

/* ---- the model ---- */

static bool check_function(ms_shaping *s, const ms_family_function *function,
                           const ms_text_facts *facts, const ms_text_shape *input, uint64_t width)
{
    const ms_family_class *klass = s->text->root.fields[s->text->model_field].value->klass;
    const ms_text_shape wanted = {MS_SHAPED, 3, {s->batch, s->seq, width}};
    shapes out = {0};
    return call(s, klass, function, facts, input, &out) &&
           ms_shape_expect(s, function->text->place, &out.items[0], &wanted, "the result");
}

ms_status ms_family_shapes_check(const ms_model_config *config, ms_error *err)
{
    const ms_family_text *text = config->family->text;
    ms_error own = {0};
    ms_family_reading reading = {.arena = text->arena, .err = err ? err : &own};
    ms_shaping s = {.reading = &reading, .text = text, .batch = 1000003, .seq = 10007};
    const ms_family_class *klass = text->root.fields[text->model_field].value->klass;
    const ms_text_shape ids = {MS_SHAPED, 2, {s.batch, s.seq}};
    const ms_text_shape states = {MS_SHAPED, 3, {s.batch, s.seq, config->hidden_size}};
    ms_text_facts facts = {.config = config, .layer = MS_NONE, .looped = MS_NONE};
    const ms_text_shape table = {MS_SHAPED, 2, {config->vocab_size, config->hidden_size}};
    const ms_text_shape found = {MS_SHAPED,
                                 2,
                                 {(uint64_t)ms_family_number(&facts, text->table->items[0]),
                                  (uint64_t)ms_family_number(&facts, text->table->items[1])}};
    (void)ms_shape_expect(&s, text->table, &found, &table, "the embedding of the head");
    for (int liger = 0; liger < 2 && reading.status == MS_OK; liger++) {
        facts.liger_swiglu = liger;
        facts.is_first_stage = facts.is_last_stage = false;
        (void)check_function(&s, klass->forward, &facts, &ids, config->hidden_size);
    }
    if (reading.status == MS_OK && klass->stage) {
        (void)check_function(&s, klass->stage, &facts, &states, config->hidden_size);
        facts.is_first_stage = facts.is_last_stage = true;
        (void)check_function(&s, klass->stage, &facts, &ids, config->vocab_size);
    }
    return reading.status;
}
