/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls: a frame for each, whose slots are Python's locals.
 */
#include <string.h>

#include "model/blocks/host/host_modules.h"
#include "model/blocks/tensor_parallel.h"
#include "model/evaluator/evaluate.h"
#include "torch/ops/ops.h"

static void evaluate(ms_frame *f, const ms_text_node *node, ms_results *results);

static ms_tensor evaluate_one(ms_frame *f, const ms_text_node *node)
{
    ms_results results = {.count = 1};
    evaluate(f, node, &results);
    return results.items[0];
}

/* ---- numbers of a frame ---- */

static ms_text_facts facts_of(const ms_frame *f)
{
    const ms_family_program *p = f->model->modules;
    return (ms_text_facts){.config = f->model->config,
                           .layer = f->self->number,
                           .looped = f->looped ? f->looped->number : MS_NONE,
                           .liger_swiglu = f->model->run->liger & MS_LIGER_SWIGLU,
                           .is_first_stage = p->is_first_stage,
                           .is_last_stage = p->is_last_stage};
}

ms_dim ms_frame_dim(const ms_frame *f, const ms_text_node *node)
{
    if (node->kind == MS_NODE_KEY)
        return ms_family_key_dim(f->model, node->key);
    const ms_text_facts facts = facts_of(f);
    return ms_family_dim_of(f->model, &facts, node);
}

double ms_frame_number(const ms_frame *f, const ms_text_node *node, double otherwise)
{
    const ms_text_facts facts = facts_of(f);
    return node ? ms_family_number(&facts, node) : otherwise;
}

static bool is_true(const ms_frame *f, const ms_text_node *node)
{
    const ms_text_facts facts = facts_of(f);
    return ms_family_truth(&facts, node);
}

ms_tensor *ms_frame_local(ms_frame *f, const ms_text_node *node)
{
    return &f->locals.slots[node->index];
}

/* ---- calls of modules ---- */

/* The function that a region runs again calls the module with the same arguments but the first. */
static ms_tensor run_again(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    const ms_family_part *p = context;
    ms_object *o = &p->objects[p->is_list ? number : 0];
    ms_tensor args[MS_FAMILY_NAMES];
    ms_results results = {.count = 1};
    memcpy(args, o->given, sizeof args);
    args[0] = input;
    ms_family_call(p->model, o, o->klass->forward, args, &results);
    if (o->klass->forward->results > 1 && !tape->stopped) {
        ms_retain(tape, results.items[1]);
        o->second = results.items[1];
    }
    return results.items[0];
}

/* A layer, under its treatment: its second positional argument is saved as its input is, those with
 * keywords are kept in the order in which they stand. */
static ms_tensor call_layer(ms_model *model, ms_family_part *p, ms_object *o,
                            const ms_text_node *node, ms_tensor input)
{
    ms_region region = {.run = run_again, .context = p, .number = o->number};
    uint32_t held = 0;
    for (uint32_t i = 2; i < node->count; i++) {
        ms_tensor *given = &o->given[node->places[i]];
        if (node->items[i]->keyword)
            region.held[held++] = *given;
        else
            region.positional = given;
    }
    return ms_layer_call(model, &region, input);
}

static void call_object(ms_frame *f, ms_family_part *p, ms_object *o, const ms_text_node *node,
                        const ms_tensor *values, ms_results *results)
{
    ms_tensor args[MS_FAMILY_NAMES] = {0};
    for (uint32_t i = 1; i < node->count; i++)
        args[node->places[i]] = values[i];
    memcpy(o->given, args, sizeof args);
    if (o->klass->role == MS_ROLE_LAYER) {
        results->items[0] = call_layer(f->model, p, o, node, args[0]);
        return;
    }
    if (o->klass->role != MS_ROLE_NONE)
        args[0] = ms_module_input(f->model, args[0]);
    if (o->klass->role == MS_ROLE_FEED_FORWARD) {
        const ms_region region = {.run = run_again, .context = p, .number = o->number};
        results->items[0] = ms_mlp_call(f->model, &region, args[0]);
        results->items[1] = ms_unown(f->model->tape, o->second);
        o->second = 0;
        return;
    }
    ms_family_call(f->model, o, o->klass->forward, args, results);
}

/* Where a loop's module stands: in the list that has it. */
static ms_family_part *part_of_looped(ms_frame *f)
{
    for (uint32_t i = 0; i < f->self->klass->field_count; i++) {
        ms_family_part *p = &f->self->parts[i];
        if (p->is_list && f->looped >= p->objects && f->looped < p->objects + p->count)
            return p;
    }
    return NULL;
}

static void call_module(ms_frame *f, const ms_text_node *node, ms_results *results)
{
    ms_tape *tape = f->model->tape;
    const ms_text_node *called = node->items[0];
    ms_tensor values[MS_FAMILY_NAMES + 1]; /* as many as the node has */
    ms_family_part *p =
        called->kind == MS_NODE_FIELD ? &f->self->parts[called->index] : part_of_looped(f);
    values[1] = 0;
    for (uint32_t i = 1; i < node->count; i++)
        values[i] = evaluate_one(f, node->items[i]);
    for (uint32_t i = 2; i < node->count; i++) /* the caller's, until the call returns */
        ms_retain(tape, values[i]);
    if (!p || !p->maker)
        ms_consume(tape, values[1]);
    else if (p->objects)
        call_object(f, p, called->kind == MS_NODE_FIELD ? p->objects : f->looped, node, values,
                    results);
    else
        p->maker->primitive->call(f, p, values + 1, results);
    for (uint32_t i = 2; i < node->count; i++)
        ms_release(tape, values[i]);
}

/* ---- expressions ---- */

static void call_primitive(ms_frame *f, const ms_text_node *node, ms_results *results)
{
    ms_tensor args[MS_FAMILY_NAMES]; /* as many as the row has parameters */
    const char *types = node->primitive->types;
    for (uint32_t i = 0, k = 0; i < node->count; i++, k++) {
        k += types[k] == '|';
        args[i] = types[k] == 't' && node->items[i] ? evaluate_one(f, node->items[i]) : 0;
    }
    node->primitive->run(f, node, args, results);
}

static ms_tensor operate(ms_frame *f, const ms_text_node *node)
{
    ms_tape *tape = f->model->tape;
    const bool number_first = node->items[0]->is_number;
    const ms_tensor a = evaluate_one(f, node->items[number_first ? 1 : 0]);
    if (number_first || node->items[1]->is_number)
        return node->kind == MS_NODE_MULTIPLY ? ms_mul_scalar(tape, a)
               : node->kind == MS_NODE_DIVIDE ? ms_div_scalar(tape, a)
                                              : ms_add_scalar(tape, a);
    const ms_tensor b = evaluate_one(f, node->items[1]);
    return node->kind == MS_NODE_ADD        ? ms_add(tape, a, b)
           : node->kind == MS_NODE_SUBTRACT ? ms_sub(tape, a, b)
           : node->kind == MS_NODE_MULTIPLY ? ms_mul(tape, a, b)
                                            : ms_div(tape, a, b);
}

/* Fills results->items: as many as results->count says are bound. */
static void evaluate(ms_frame *f, const ms_text_node *node, ms_results *results)
{
    switch ((int)node->kind) {
    case MS_NODE_LOCAL:
        results->items[0] = f->locals.slots[node->index];
        break;
    case MS_NODE_GIVEN:
        results->items[0] = f->given[node->index];
        break;
    case MS_NODE_FIELD:
        results->items[0] = f->self->parts[node->index].tensors[0];
        break;
    case MS_NODE_PRIMITIVE:
        call_primitive(f, node, results);
        break;
    case MS_NODE_MODULE:
        call_module(f, node, results);
        break;
    case MS_NODE_CHOICE:
        evaluate(f, node->items[is_true(f, node->items[1]) ? 0 : 2], results);
        break;
    case MS_NODE_NONE:
        results->items[0] = 0;
        break;
    default:
        results->items[0] = operate(f, node);
        break;
    }
}

/* ---- statements ---- */

static bool run_block(ms_frame *f, const ms_text_block *block, ms_results *returned);

/* Values first, then names: as Python does. */
static void assign(ms_frame *f, const ms_text_statement *s)
{
    ms_results results = {.count = s->target_count};
    if (s->value->kind == MS_NODE_TUPLE)
        for (uint32_t i = 0; i < s->value->count; i++)
            results.items[i] = evaluate_one(f, s->value->items[i]);
    else
        evaluate(f, s->value, &results);
    for (uint32_t i = 0; i < s->target_count; i++)
        ms_assign(&f->locals, &f->locals.slots[s->targets[i]->index], results.items[i]);
}

static void run_loop(ms_frame *f, const ms_text_statement *s)
{
    const ms_family_program *program = f->model->modules;
    const ms_family_part *list = &f->self->parts[s->value->index];
    ms_results none = {0};
    for (uint32_t i = program->first;
         i < program->end && i < list->count && f->model->tape->status == MS_OK; i++) {
        f->looped = &list->objects[i];
        (void)run_block(f, &s->body, &none);
    }
    f->looped = NULL;
}

static void take_results(ms_frame *f, const ms_text_statement *s, ms_results *returned)
{
    const ms_text_node *value = s->value;
    if (f->model->tape->stopped) /* an exception is on its way: nothing is returned */
        return;
    returned->count = value->kind == MS_NODE_TUPLE ? value->count : 1;
    for (uint32_t i = 0; i < returned->count; i++) {
        returned->items[i] =
            evaluate_one(f, value->kind == MS_NODE_TUPLE ? value->items[i] : value);
        ms_retain(f->model->tape, returned->items[i]);
    }
}

/* True once a return statement was reached. */
static bool run_block(ms_frame *f, const ms_text_block *block, ms_results *returned)
{
    for (uint32_t i = 0; i < block->count; i++) {
        const ms_text_statement *s = block->items[i];
        switch ((int)s->kind) {
        case MS_STATEMENT_ASSIGN:
            assign(f, s);
            break;
        case MS_STATEMENT_CALL:
            ms_consume(f->model->tape, evaluate_one(f, s->value));
            break;
        case MS_STATEMENT_IF:
            if (run_block(f, is_true(f, s->value) ? &s->body : &s->other, returned))
                return true;
            break;
        case MS_STATEMENT_FOR:
            run_loop(f, s);
            break;
        case MS_STATEMENT_RETURN:
            take_results(f, s, returned);
            return true;
        default:
            break;
        }
    }
    return false;
}

/* Parameters of the module itself come from the host for its call, where they wait there; those of
 * a type of their own, which were not compared there, do not, so that such a run is refused. */
static ms_fetched fetch_own(ms_model *model, const ms_object *o)
{
    ms_tensor own[MS_MOST_FETCHED];
    uint32_t count = 0;
    for (uint32_t i = 0; i < o->klass->field_count && model->run->has_host_layers; i++) {
        const ms_text_node *maker = o->parts[i].maker;
        if (maker && maker->kind == MS_NODE_PRIMITIVE &&
            maker->primitive->shape == MS_SHAPE_PARAMETER && count < MS_MOST_FETCHED)
            own[count++] = o->parts[i].tensors[0];
    }
    return ms_host_fetch(model, count, own);
}

void ms_family_call(ms_model *model, ms_object *o, const ms_family_function *function,
                    const ms_tensor *args, ms_results *results)
{
    ms_tape *tape = model->tape;
    const uint32_t previous = o->scope == MS_NONE ? tape->scope : ms_scope_enter(tape, o->scope);
    const ms_fetched fetched = fetch_own(model, o);
    ms_frame f; /* of which only what the function has is set */
    ms_results returned;
    f.model = model;
    f.self = o;
    f.looped = NULL;
    f.locals.tape = tape;
    f.locals.count = f.locals.argument_count = returned.count = 0;
    memset(f.locals.slots, 0, function->slot_count * sizeof *f.locals.slots);
    (void)ms_argument(&f.locals, args[0]);
    for (uint32_t i = 1; i < function->parameter_count; i++) {
        f.given[i] = args[i];
        if (function->slots[i])
            (void)ms_local(&f.locals, args[i]);
    }
    f.locals.count = function->slot_count;
    (void)run_block(&f, &function->text->body, &returned);
    ms_locals_end(&f.locals, NULL);
    ms_host_drop(model, &fetched);
    for (uint32_t i = 0; i < returned.count; i++)
        results->items[i] = ms_unown(tape, returned.items[i]);
    tape->scope = previous;
}
