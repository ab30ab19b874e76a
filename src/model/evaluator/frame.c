/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Frames: what a call's names have, the values of what it says, and what it cannot do.
 */
#include <math.h>
#include <string.h>

#include "base/locale.h"
#include "model/evaluator/evaluate.h"

/* ---- failures ---- */

void ms_frame_fail(ms_frame *f, const ms_text_node *at, const char *format, ...)
{
    char text[256], place[256] = "";
    const ms_family_class *klass = f->self ? f->self->klass : NULL;
    va_list arguments;
    va_start(arguments, format);
    ms_text_vprint(text, sizeof text, format, arguments);
    va_end(arguments);
    ms_tape *tape = f->model->tape;
    ms_error *failure =
        ms_idle(tape) || tape->failure ? NULL : ms_arena_array(f->model->arena, ms_error, 1);
    if (failure) {
        ms_family_reading reading = {.arena = f->model->arena, .err = failure};
        if (klass && !at->file->is_users)
            ms_users_place(klass->place, place, sizeof place);
        ms_family_fail(&reading, at, "%s%s%s%s", text, *place ? ", in " : "",
                       *place ? klass->name : "", place);
        tape->failure = failure;
    }
    ms_tape_fail(tape, MS_ERR_CONFIG);
}

/* ---- names ---- */

void ms_frame_bind(ms_frame *f, uint32_t slot, ms_value value)
{
    ms_tape *tape = f->model->tape;
    if (tape->stopped)
        return; /* an exception is on its way: nothing is bound */
    const ms_value none = {0};
    ms_tensor *tensor = &f->locals.slots[slot];
    const ms_value other = f->others[slot];
    const ms_tensor old = *tensor;
    ms_value_retain(tape, value);
    *tensor = value.kind == MS_VALUE_TENSOR ? value.tensor : 0;
    f->others[slot] = value.kind == MS_VALUE_TENSOR ? none : value;
    ms_release(tape, old);
    ms_value_release(tape, ms_frame_pool(f), other);
}

/* ---- numbers ---- */

static ms_text_facts facts_of(const ms_frame *f)
{
    const ms_family_program *p = f->model->modules;
    return (ms_text_facts){.config = f->model->config,
                           .layer = f->self->number,
                           .looped = f->looped ? f->looped->number : MS_NONE,
                           .place = f->self->place,
                           .looped_place = f->looped ? f->looped->place : MS_NONE,
                           .has_images = f->model->run->images.count > 0,
                           .liger_swiglu = f->model->run->liger & MS_LIGER_SWIGLU,
                           .is_first_stage = p->is_first_stage,
                           .is_last_stage = p->is_last_stage,
                           .is_evaluating = f->model->tape->is_evaluating};
}

/* A number of the config: a size has its symbol. */
ms_value ms_frame_config_number(const ms_frame *f, const ms_text_node *node)
{
    const ms_text_facts facts = facts_of(f);
    const double number = ms_family_number(&facts, node);
    const bool is_size =
        node->kind != MS_NODE_TRUTH && number >= 1 && number < 1e15 && !(floor(number) < number);
    return is_size ? ms_value_of_dim(ms_family_dim_of(f->model, &facts, node))
                   : ms_value_of_number(number);
}

/* The number that a value must be. */
static double wanted_number(ms_frame *f, const ms_text_node *node)
{
    const ms_value value = ms_frame_value(f, node);
    if (value.kind == MS_VALUE_NUMBER)
        return value.number;
    ms_frame_fail(f, node, "expected a number");
    ms_value_consume(f->model->tape, ms_frame_pool(f), value);
    return 0;
}

ms_dim ms_size_of_value(ms_frame *f, ms_value value)
{
    if (value.is_dim)
        return value.dim;
    const bool is_size = value.number >= 0 && value.number < 1e15;
    return ms_dim_number(&f->model->tape->trace->symbols, is_size ? (uint64_t)value.number : 0);
}

ms_dim ms_frame_dim(ms_frame *f, const ms_text_node *node)
{
    if (node->kind == MS_NODE_KEY)
        return ms_family_key_dim(f->model, node->key);
    if (node->is_number) {
        const ms_text_facts facts = facts_of(f);
        return ms_family_dim_of(f->model, &facts, node);
    }
    const ms_value value = ms_frame_value(f, node);
    if (value.kind != MS_VALUE_NUMBER)
        ms_frame_fail(f, node, "expected a size");
    return ms_size_of_value(f, value);
}

double ms_frame_number(ms_frame *f, const ms_text_node *node, double otherwise)
{
    const ms_text_facts facts = facts_of(f);
    return !node             ? otherwise
           : node->is_number ? ms_family_number(&facts, node)
                             : wanted_number(f, node);
}

ms_tensor *ms_frame_local(ms_frame *f, const ms_text_node *node)
{
    return &f->locals.slots[node->index];
}

/* ---- truths ---- */

bool ms_frame_is_true(ms_frame *f, const ms_text_node *node, ms_value value)
{
    switch ((int)value.kind) {
    case MS_VALUE_NONE:
        return false;
    case MS_VALUE_NUMBER:
        return value.number < 0 || value.number > 0;
    case MS_VALUE_TEXT:
        return value.text[0] != '\0';
    case MS_VALUE_LIST:
        return value.items->count > 0;
    case MS_VALUE_TENSOR:
        ms_frame_fail(f, node, "the values inside a tensor are not known");
        return false;
    default:
        return true;
    }
}

bool ms_frame_truth(ms_frame *f, const ms_text_node *node)
{
    if (node->is_number) {
        const ms_text_facts facts = facts_of(f);
        return ms_family_truth(&facts, node);
    }
    const ms_value value = ms_frame_value(f, node);
    const bool is_true = ms_frame_is_true(f, node, value);
    ms_value_consume(f->model->tape, ms_frame_pool(f), value);
    return is_true;
}

/* ---- values ---- */

ms_tensor ms_frame_tensor(ms_frame *f, const ms_text_node *node)
{
    const ms_value value = ms_frame_value(f, node);
    if (value.kind == MS_VALUE_TENSOR)
        return value.tensor;
    if (value.kind != MS_VALUE_NONE) {
        ms_value_consume(f->model->tape, ms_frame_pool(f), value);
        ms_frame_fail(f, node, "expected a tensor");
    }
    return 0;
}

ms_value ms_shape_value(ms_frame *f, const ms_shape *shape)
{
    ms_value out = {.kind = MS_VALUE_LIST, .items = ms_items_new(ms_frame_pool(f), shape->rank)};
    for (uint32_t i = 0; out.items && i < shape->rank; i++)
        (void)ms_items_add(f->model->tape, ms_frame_pool(f), out.items,
                           ms_value_of_dim(shape->dims[i]), NULL);
    return out.items ? out : (ms_value){0};
}

ms_value ms_part_value(ms_family_part *p)
{
    if (!p->maker)
        return (ms_value){0};
    if (p->maker->kind == MS_NODE_PRIMITIVE && !p->maker->primitive->call)
        return ms_value_of_tensor(p->tensors[0]);
    return (ms_value){.kind = MS_VALUE_MODULE, .part = p, .object = p->is_list ? NULL : p->objects};
}
