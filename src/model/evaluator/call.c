/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls and statements: a frame for each call, whose slots are Python's locals.
 */
#include <string.h>

#include "model/blocks/host/host_modules.h"
#include "model/blocks/tensor_parallel.h"
#include "model/evaluator/evaluate.h"
#include "torch/autograd/hooks.h"
#include "torch/ops/ops.h"
#include "torch/treatments/recompute.h"

static ms_value run_function(ms_model *model, ms_object *o, const ms_family_function *function,
                             const ms_value *args);

/* ---- calls of modules ---- */

/* A layer's states are the first of what it returns; what is behind them waits for call_layer(),
 * unless this is a call again, of which nobody takes it. */
static ms_value first_of(ms_model *model, const ms_object *o, ms_value result)
{
    ms_tape *tape = model->tape;
    ms_family_program *program = model->modules;
    const ms_value first = result.items->count ? result.items->values[0] : (ms_value){0};
    const bool is_layer = o->klass->role == MS_ROLE_LAYER;
    if (is_layer && ms_hooks_saving(tape) != MS_SAVING_AGAIN && !tape->stopped &&
        result.items->count > 1) {
        program->handed = (ms_value){.kind = MS_VALUE_LIST,
                                     .items = ms_items_new(&program->pool, result.items->count)};
        if (!program->handed.items)
            program->handed.kind = MS_VALUE_NONE;
        ms_value_retain(tape, program->handed);
        for (uint32_t i = 1; program->handed.items && i < result.items->count; i++)
            (void)ms_items_add(tape, &program->pool, program->handed.items, result.items->values[i],
                               NULL);
    }
    ms_value_retain(tape, first);
    ms_value_consume(tape, &program->pool, result);
    return ms_value_unown(tape, first);
}

/* How a module in a list is told from the others of it, for a region. */
static uint64_t number_of(const ms_object *o)
{
    return o->number == MS_NONE ? o->place : o->number;
}

/* The function that a region runs again calls the module with the same arguments but the first. */
static ms_tensor run_again(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    const ms_family_part *p = context;
    ms_object *o = &p->objects[p->is_list ? number - p->first : 0];
    ms_items_pool *pool = &((ms_family_program *)p->model->modules)->pool;
    ms_value args[MS_FAMILY_NAMES], tuple = {0};
    memcpy(args, o->given, sizeof args);
    args[0] = ms_value_of_tensor(input);
    if (o->tuple.count > 0) {
        tuple.items = ms_items_new(pool, o->tuple.count);
        tuple.kind = tuple.items ? MS_VALUE_LIST : MS_VALUE_NONE;
        for (uint32_t i = 0; tuple.items && i < o->tuple.count; i++)
            (void)ms_items_add(tape, pool, tuple.items, ms_value_of_tensor(o->tuple.items[i]),
                               NULL);
        args[o->tuple.place] = tuple;
    }
    ms_value_retain(tape, tuple);
    ms_value result = run_function(p->model, o, o->klass->forward, args);
    ms_value_release(tape, pool, tuple);
    if (result.kind == MS_VALUE_LIST) {
        if (o->klass->role == MS_ROLE_FEED_FORWARD && result.items->count == 2 && !tape->stopped) {
            o->second = result.items->values[1].tensor;
            ms_retain(tape, o->second);
        }
        result = first_of(p->model, o, result);
    }
    if (result.kind != MS_VALUE_TENSOR && !ms_idle(tape)) {
        ms_frame f = {.model = p->model, .self = o};
        ms_frame_fail(&f, o->klass->forward->text->place, "a layer or an MLP must return a tensor");
    }
    return result.kind == MS_VALUE_TENSOR ? result.tensor : 0;
}

static void hold(ms_frame *f, const ms_text_node *at, ms_region *region, uint32_t *held,
                 ms_tensor tensor)
{
    if (*held < MS_MAX_KEPT_ARGUMENTS)
        region->held[(*held)++] = tensor;
    else
        ms_frame_fail(f, at, "a layer may have at most %d arguments with tensors",
                      MS_MAX_KEPT_ARGUMENTS + 1);
}

/* A tuple among a layer's arguments: its tensors are kept one by one. */
static void keep_tuple(ms_frame *f, const ms_text_node *at, ms_object *o, uint32_t place,
                       const ms_items *items, ms_region *region, uint32_t *held)
{
    bool has_tensors = items->count <= MS_TUPLE_MOST && o->tuple.count == 0;
    for (uint32_t i = 0; i < items->count && has_tensors; i++) {
        const ms_value item = items->values[i];
        has_tensors = item.kind == MS_VALUE_TENSOR || item.kind == MS_VALUE_NONE;
        o->tuple.items[i] = item.tensor;
        if (has_tensors && item.tensor)
            hold(f, at, region, held, item.tensor);
    }
    o->tuple.place = (uint8_t)place;
    o->tuple.count = (uint8_t)(has_tensors ? items->count : 0);
    if (!has_tensors)
        ms_frame_fail(f, at, "a layer may have one tuple, of up to %d tensors, among its arguments",
                      MS_TUPLE_MOST);
}

/* A layer's states, or a tuple of them and what else it returned. */
static ms_value with_handed(ms_frame *f, const ms_text_node *node, ms_tensor states)
{
    ms_tape *tape = f->model->tape;
    ms_family_program *program = ms_frame_program(f);
    const ms_value rest = program->handed, first = ms_value_of_tensor(states);
    if (rest.kind == MS_VALUE_NONE)
        return first;
    program->handed = (ms_value){0};
    ms_value out = {.kind = MS_VALUE_LIST,
                    .items = ms_items_new(&program->pool, rest.items->count + 1)};
    for (uint32_t i = 0; out.items && i <= rest.items->count; i++)
        (void)ms_items_add(tape, &program->pool, out.items, i ? rest.items->values[i - 1] : first,
                           NULL);
    ms_value_release(tape, &program->pool, rest);
    return out.items ? out : ms_frame_failed(f, node, "a layer returns too many values");
}

/* Whether a layer has more than two positional arguments. */
static bool has_positional(const ms_text_node *node)
{
    uint32_t count = 0;
    for (uint32_t i = 2; i < node->count; i++)
        count += !node->items[i]->keyword;
    return count > 1;
}

/* A layer, under its treatment: its second positional argument is saved as its input is, and so are
 * several; those with keywords are kept in the order in which they stand; a dict is what layers
 * share. */
static ms_value call_layer(ms_frame *f, ms_family_part *p, ms_object *o, const ms_text_node *node,
                           ms_tensor input)
{
    ms_region region = {
        .run = run_again, .context = p, .number = number_of(o), .saves_held = has_positional(node)};
    uint32_t held = 0;
    for (uint32_t i = 2; i < node->count; i++) {
        ms_value *given = &o->given[node->places[i]];
        if (given->kind == MS_VALUE_LIST && given->items->is_dict)
            ms_dict_share(f, node->items[i], &region, given->items);
        else if (given->kind == MS_VALUE_LIST)
            keep_tuple(f, node->items[i], o, node->places[i], given->items, &region, &held);
        else if (node->items[i]->keyword || region.saves_held)
            hold(f, node->items[i], &region, &held, given->tensor);
        else
            region.positional = &given->tensor;
    }
    if (o->klass->role != MS_ROLE_LAYER)
        return ms_value_of_tensor(f->model->run->images.checkpoints
                                      ? ms_checkpoint_run(f->model->tape, &region, input)
                                      : run_again(f->model->tape, p, region.number, input));
    ms_shared_retain(region.shared);
    const ms_tensor states = ms_layer_call(f->model, &region, input);
    ms_shared_release(f->model->tape, region.shared);
    return with_handed(f, node, states);
}

/* The first argument of a module that memscope treats is a tensor. */
static bool is_tensor(ms_frame *f, const ms_text_node *node, ms_value value)
{
    if (value.kind == MS_VALUE_TENSOR || ms_idle(f->model->tape))
        return true;
    ms_frame_fail(f, node, "the first argument of this module must be a tensor");
    return false;
}

static ms_value call_object(ms_frame *f, ms_family_part *p, ms_object *o, const ms_text_node *node,
                            const ms_value *args)
{
    const ms_family_role role = o->klass->role;
    if (role == MS_ROLE_NONE)
        return run_function(f->model, o, o->klass->forward, args);
    if (!is_tensor(f, node, args[0]))
        return (ms_value){0};
    memcpy(o->given, args, sizeof o->given);
    o->tuple.count = 0;
    if (role == MS_ROLE_LAYER || role == MS_ROLE_TOWER_LAYER)
        return call_layer(f, p, o, node, args[0].tensor);
    const ms_tensor input = ms_module_input(f->model, args[0].tensor);
    if (role == MS_ROLE_FEED_FORWARD) {
        const ms_region region = {.run = run_again, .context = p, .number = o->number};
        ms_results results = {.count = o->klass->forward->results};
        results.items[0] = ms_mlp_call(f->model, &region, input);
        results.items[1] = ms_unown(f->model->tape, o->second);
        o->second = 0;
        return ms_frame_results(f, node, &results);
    }
    ms_value own[MS_FAMILY_NAMES];
    memcpy(own, args, sizeof own);
    own[0] = ms_value_of_tensor(input);
    return run_function(f->model, o, o->klass->forward, own);
}

/* Where a loop's module stands: in the list that has it. */
ms_family_part *ms_frame_part_of(ms_frame *f, const ms_object *object)
{
    for (uint32_t i = 0; i < f->self->klass->field_count; i++) {
        ms_family_part *p = &f->self->parts[i];
        if (p->is_list && p->objects && object >= p->objects && object < p->objects + p->count)
            return p;
    }
    return NULL;
}

static ms_value default_of(const ms_family_function *function, uint32_t parameter)
{
    const uint32_t place =
        parameter + (function->text->target_count - function->parameter_count); /* past self */
    const ms_text_node *node = function->text->defaults[place];
    if (!node || node->kind == MS_NODE_NONE)
        return (ms_value){0};
    if (node->kind == MS_NODE_STRING)
        return (ms_value){.kind = MS_VALUE_TEXT, .text = node->text};
    return ms_value_of_number(node->number);
}

static void set_defaults(const ms_family_function *function, ms_value *args)
{
    memset(args, 0, MS_FAMILY_NAMES * sizeof *args);
    for (uint32_t i = 0; i < function->parameter_count; i++)
        if (function->has_default[i])
            args[i] = default_of(function, i);
}

/* What a row makes is called with tensors. */
static ms_value call_part(ms_frame *f, ms_family_part *p, const ms_text_node *node,
                          const ms_value *values)
{
    const ms_primitive *row = p->maker->primitive;
    ms_tensor args[MS_FAMILY_NAMES] = {0};
    ms_results results = {.count = row->results};
    if (!row->call || node->count - 1 != strlen(row->call_types)) {
        ms_frame_fail(f, node, "this module is not called like this");
        return (ms_value){0};
    }
    for (uint32_t i = 1; i < node->count; i++) {
        if (values[i].kind != MS_VALUE_TENSOR && values[i].kind != MS_VALUE_NONE)
            ms_frame_fail(f, node->items[i], "expected a tensor");
        args[i - 1] = values[i].tensor;
    }
    if (ms_idle(f->model->tape) || !ms_check_part(f, node, p, args))
        return (ms_value){0};
    row->call(f, p, args, &results);
    return ms_frame_results(f, node, &results);
}

/* Places of arguments that are found as the call runs. */
static bool find_places(ms_frame *f, const ms_text_node *node, const ms_family_function *function,
                        uint8_t *places)
{
    bool is_given[MS_FAMILY_NAMES] = {false};
    for (uint32_t i = 1; i < node->count; i++) {
        const char *keyword = node->items[i]->keyword;
        uint32_t place = i - 1;
        for (place = keyword ? 0 : place; keyword && place < function->parameter_count; place++)
            if (strcmp(function->parameters[place], keyword) == 0)
                break;
        if (place >= function->parameter_count || is_given[place]) {
            ms_frame_fail(f, node->items[i], "'%.40s' has no such parameter", function->name);
            return false;
        }
        is_given[place] = true;
        places[i] = (uint8_t)place;
    }
    for (uint32_t i = 0; i < function->parameter_count; i++)
        if (!is_given[i] && !function->has_default[i]) {
            ms_frame_fail(f, node, "the argument '%.40s' is missing", function->parameters[i]);
            return false;
        }
    return true;
}

/* The module that a call is of. False: there is none, which is recorded. */
static bool find_called(ms_frame *f, const ms_text_node *node, ms_family_part **part,
                        ms_object **object)
{
    const ms_text_node *called = node->items[0];
    *object = NULL;
    if (called->kind == MS_NODE_FIELD) {
        *part = &f->self->parts[called->index];
        *object = (*part)->is_list ? NULL : (*part)->objects;
    } else if (called->kind == MS_NODE_OBJECT) {
        *part = ms_frame_part_of(f, f->looped);
        *object = f->looped;
    } else {
        const ms_value value = ms_frame_value(f, called);
        *part = value.kind == MS_VALUE_MODULE ? value.part : NULL;
        *object = value.kind == MS_VALUE_MODULE ? value.object : NULL;
        ms_value_consume(f->model->tape, ms_frame_pool(f), value);
    }
    if (*part && (*part)->maker && (*object || !((*part)->objects || (*part)->parts)))
        return true;
    ms_frame_fail(f, called, *part ? "this module is None here" : "this cannot be called");
    return false;
}

/* [First(), Second()](x), as torch.nn.Sequential: one after another, each with what the last one
 * yields. */
static ms_value call_sequence(ms_frame *f, ms_object *o, const ms_text_node *node, ms_value input)
{
    ms_tape *tape = f->model->tape;
    ms_items_pool *pool = ms_frame_pool(f);
    const uint32_t previous = ms_scope_enter(tape, o->scope);
    ms_value hidden = input;
    ms_value_retain(tape, input); /* the caller's until it returns */
    ms_value_retain(tape, hidden);
    for (uint32_t i = 0; i < o->klass->field_count && !ms_idle(tape); i++) {
        ms_family_part *p = &o->parts[i];
        if (!p->maker || (p->objects && !p->objects->klass->forward)) {
            ms_frame_fail(f, node, "a module of this list cannot be called");
            break;
        }
        const ms_text_node one = {.kind = MS_NODE_CALLED, .count = 2, .items = node->items};
        const ms_value values[MS_FAMILY_NAMES] = {{0}, hidden};
        const ms_value next =
            p->objects ? run_function(f->model, p->objects, p->objects->klass->forward, &values[1])
                       : call_part(f, p, &one, values);
        ms_value_retain(tape, next);
        ms_value_release(tape, pool, hidden);
        hidden = next;
    }
    ms_value_release(tape, pool, input);
    tape->scope = previous;
    return ms_value_unown(tape, hidden);
}

static ms_value call_module(ms_frame *f, const ms_text_node *node)
{
    ms_tape *tape = f->model->tape;
    ms_value values[MS_FAMILY_NAMES + 1], args[MS_FAMILY_NAMES], result = {0};
    uint8_t found[MS_FAMILY_NAMES + 1];
    ms_family_part *p;
    ms_object *o;
    ms_text_node placed = *node;
    if (ms_idle(tape) || !find_called(f, node, &p, &o))
        return result;
    for (uint32_t i = 1; i < node->count; i++)
        values[i] = ms_frame_value(f, node->items[i]);
    if (o && o->klass->is_numbered && node->count == 2 && !ms_idle(tape))
        return call_sequence(f, o, node, values[1]);
    if (o && !node->places && o->klass->forward && find_places(f, node, o->klass->forward, found))
        placed.places = found;
    if (o && !o->klass->forward && !o->klass->is_numbered && !ms_idle(tape))
        ms_frame_fail(f, node, "%s has no forward", o->klass->name);
    const uint32_t own = node->count > 1 && placed.places && placed.places[1] != 0 ? 1 : 2;
    for (uint32_t i = own; i < node->count; i++) /* the caller's, until the call returns */
        ms_value_retain(tape, values[i]);
    if (o && placed.places && !ms_idle(tape)) {
        set_defaults(o->klass->forward, args);
        for (uint32_t i = 1; i < node->count; i++)
            args[placed.places[i]] = values[i];
        result = call_object(f, p, o, &placed, args);
    } else if (!o && !ms_idle(tape)) {
        result = call_part(f, p, node, values);
    }
    for (uint32_t i = own; i < node->count; i++)
        ms_value_release(tape, ms_frame_pool(f), values[i]);
    return result;
}

ms_value ms_frame_call(ms_frame *f, const ms_text_node *node)
{
    ms_value args[MS_FAMILY_NAMES];
    if (node->kind != MS_NODE_FUNCTION)
        return call_module(f, node);
    if (ms_idle(f->model->tape))
        return (ms_value){0};
    set_defaults(node->function, args);
    for (uint32_t i = 1; i < node->count; i++)
        args[node->places[i]] = ms_frame_value(f, node->items[i]);
    if (node->items[0]->kind != MS_NODE_FIELD)
        return run_function(f->model, f->self, node->function, args);
    ms_object *o = f->self->parts[node->items[0]->index].objects;
    if (!o)
        return ms_frame_failed(f, node, "this module is None here");
    const uint32_t previous = ms_scope_enter(f->model->tape, o->scope);
    const ms_value result = run_function(f->model, o, node->function, args);
    f->model->tape->scope = previous;
    return result;
}

/* ---- statements ---- */

typedef enum flow { NEXT, RETURNED, BROKEN, CONTINUED } flow;

static flow run_block(ms_frame *f, const ms_text_block *block, ms_value *returned);

/* Values first, then names: as Python does. */
static void assign(ms_frame *f, const ms_text_statement *s)
{
    ms_value values[MS_FAMILY_NAMES], keeper = {0};
    if (!s->unpacks) {
        ms_frame_bind(f, s->targets[0]->index, ms_frame_value(f, s->value));
        return;
    }
    ms_frame_values(f, s->value, s->target_count, values, &keeper);
    for (uint32_t i = 0; i < s->target_count; i++)
        ms_frame_bind(f, s->targets[i]->index, values[i]);
    ms_value_consume(f->model->tape, ms_frame_pool(f), keeper);
}

/* Over the layers that are this process's. */
static flow run_layers(ms_frame *f, const ms_text_statement *s, ms_value *returned)
{
    const ms_family_program *program = ms_frame_program(f);
    const ms_family_part *list = &f->self->parts[s->value->index];
    flow result = NEXT;
    const bool of_layers = ms_family_lists_layers(list->maker);
    const uint32_t end = of_layers && program->end < list->count ? program->end : list->count;
    for (uint32_t i = of_layers ? program->first : 0; i < end && f->model->tape->status == MS_OK;
         i++) {
        f->looped = &list->objects[i];
        if (s->target_count > 1)
            ms_frame_bind(f, s->targets[0]->index, ms_value_of_number(i));
        result = run_block(f, &s->body, returned);
        if (result == RETURNED || result == BROKEN)
            break;
    }
    f->looped = NULL;
    return result == RETURNED ? RETURNED : NEXT;
}

static void bind_targets(ms_frame *f, const ms_text_statement *s, ms_value value)
{
    if (s->target_count == 1) {
        ms_frame_bind(f, s->targets[0]->index, value);
        return;
    }
    if (value.kind != MS_VALUE_LIST || value.items->count != s->target_count) {
        ms_frame_fail(f, s->targets[0], "expected %u values", s->target_count);
        return;
    }
    for (uint32_t i = 0; i < s->target_count; i++)
        ms_frame_bind(f, s->targets[i]->index, value.items->values[i]);
}

static flow run_loop(ms_frame *f, const ms_text_statement *s, ms_value *returned)
{
    if (s->of_layers)
        return run_layers(f, s, returned);
    ms_tape *tape = f->model->tape;
    const ms_value list = ms_frame_value(f, s->value);
    flow result = NEXT;
    if (list.kind != MS_VALUE_LIST) {
        ms_frame_fail(f, s->value, "a loop goes over layers, a list, or range(...)");
        ms_value_consume(tape, ms_frame_pool(f), list);
        return NEXT;
    }
    ms_value_retain(tape, list);
    for (uint32_t i = 0; i < list.items->count && !ms_idle(tape); i++) {
        bind_targets(f, s, list.items->values[i]);
        result = run_block(f, &s->body, returned);
        if (result == RETURNED || result == BROKEN)
            break;
    }
    ms_value_release(tape, ms_frame_pool(f), list);
    return result == RETURNED ? RETURNED : NEXT;
}

static flow run_with(ms_frame *f, const ms_text_statement *s, ms_value *returned)
{
    ms_tape *tape = f->model->tape;
    const bool had_grad = tape->grad_enabled, had_autocast = tape->has_autocast;
    if (s->value->index == MS_WITH_NO_GRAD)
        tape->grad_enabled = false;
    else
        tape->has_autocast = false;
    const flow result = run_block(f, &s->body, returned);
    tape->grad_enabled = had_grad;
    tape->has_autocast = had_autocast;
    return result;
}

static void take_results(ms_frame *f, const ms_text_statement *s, ms_value *returned)
{
    if (f->model->tape->stopped) /* an exception is on its way: nothing is returned */
        return;
    *returned = ms_frame_value(f, s->value);
    ms_value_retain(f->model->tape, *returned);
}

static flow run_statement(ms_frame *f, const ms_text_statement *s, ms_value *returned)
{
    switch ((int)s->kind) {
    case MS_STATEMENT_ASSIGN:
        assign(f, s);
        return NEXT;
    case MS_STATEMENT_SET:
    case MS_STATEMENT_ADD:
        ms_frame_set_items(f, s);
        return NEXT;
    case MS_STATEMENT_CALL:
        ms_value_consume(f->model->tape, ms_frame_pool(f), ms_frame_value(f, s->value));
        return NEXT;
    case MS_STATEMENT_IF:
        return run_block(f, ms_frame_truth(f, s->value) ? &s->body : &s->other, returned);
    case MS_STATEMENT_FOR:
        return run_loop(f, s, returned);
    case MS_STATEMENT_WITH:
        return run_with(f, s, returned);
    case MS_STATEMENT_RETURN:
        take_results(f, s, returned);
        return RETURNED;
    case MS_STATEMENT_DELETE:
        for (uint32_t i = 0; i < s->target_count; i++)
            ms_frame_bind(f, s->targets[i]->index, (ms_value){0});
        return NEXT;
    case MS_STATEMENT_BREAK:
        return BROKEN;
    case MS_STATEMENT_CONTINUE:
        return CONTINUED;
    default:
        return NEXT;
    }
}

static flow run_block(ms_frame *f, const ms_text_block *block, ms_value *returned)
{
    for (uint32_t i = 0; i < block->count; i++) {
        const flow result = run_statement(f, block->items[i], returned);
        if (result != NEXT)
            return result;
    }
    return NEXT;
}

/* ---- frames ---- */

static void begin_frame(ms_frame *f, const ms_family_function *function, const ms_value *args)
{
    memset(f->locals.slots, 0, function->slot_count * sizeof *f->locals.slots);
    memset(f->others, 0, function->slot_count * sizeof *f->others);
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        if (i == 0 && !function->is_plain)
            ms_value_retain(f->model->tape, args[0]); /* the caller's too, until it returns */
        if (i == 0 || function->is_plain || function->slots[i])
            ms_frame_bind(f, function->slots[i], args[i]);
        f->given[i] = args[i];
    }
    f->locals.count = function->slot_count;
}

/* Names are let go in the order in which they were bound first. */
static void end_frame(ms_frame *f, const ms_family_function *function, ms_value first)
{
    ms_tape *tape = f->model->tape;
    for (uint32_t i = 0; i < f->locals.count; i++) {
        ms_release(tape, f->locals.slots[i]);
        if (i < function->slot_count)
            ms_value_release(tape, ms_frame_pool(f), f->others[i]);
    }
    if (!function->is_plain)
        ms_value_release(tape, ms_frame_pool(f), first);
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

static ms_value run_function(ms_model *model, ms_object *o, const ms_family_function *function,
                             const ms_value *args)
{
    ms_tape *tape = model->tape;
    ms_family_program *program = model->modules;
    ms_frame f; /* of which only what the function has is set */
    ms_value returned = {0};
    f.model = model;
    f.self = o;
    f.looped = NULL;
    f.locals.tape = tape;
    f.locals.count = f.locals.argument_count = 0;
    if (function->failure && !ms_idle(tape)) {
        tape->failure = function->failure;
        ms_tape_fail(tape, MS_ERR_CONFIG);
        return returned;
    }
    if (program->frames == MS_FAMILY_FRAMES) {
        ms_frame_fail(&f, function->text->place, "calls are nested too deeply");
        return returned;
    }
    program->frames++;
    const bool enters = !function->is_plain && o->scope != MS_NONE;
    const uint32_t previous = enters ? ms_scope_enter(tape, o->scope) : tape->scope;
    ms_fetched fetched = {0};
    if (!function->is_plain)
        fetched = fetch_own(model, o);
    begin_frame(&f, function, args);
    if (!ms_idle(tape))
        (void)run_block(&f, &function->text->body, &returned);
    end_frame(&f, function, args[0]);
    if (!function->is_plain)
        ms_host_drop(model, &fetched);
    tape->scope = previous;
    program->frames--;
    return ms_value_unown(tape, returned);
}

ms_value ms_family_call(ms_model *model, ms_object *o, const ms_family_function *function,
                        const ms_value *args)
{
    return run_function(model, o, function, args);
}

ms_tensor ms_family_call_tensor(ms_model *model, ms_object *o, const ms_family_function *function,
                                ms_tensor input)
{
    return ms_family_call_tensors(model, o, function, input, 0);
}

ms_tensor ms_family_call_tensors(ms_model *model, ms_object *o, const ms_family_function *function,
                                 ms_tensor first, ms_tensor second)
{
    const ms_value args[MS_FAMILY_NAMES] = {ms_value_of_tensor(first), ms_value_of_tensor(second)};
    const ms_value result = run_function(model, o, function, args);
    if (result.kind <= MS_VALUE_TENSOR || ms_idle(model->tape))
        return result.kind == MS_VALUE_TENSOR ? result.tensor : 0;
    ms_frame f = {.model = model, .self = o};
    ms_frame_fail(&f, function->text->place, "the result of this function must be a tensor");
    return 0;
}
