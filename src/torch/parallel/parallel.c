/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/parallel/parallel.h"

#include "torch/parallel/zero/zero.h"

/* ---- tp ---- */

/* Tensor parallelism or a pipeline alone: the model is built on no device, and this rank's parts of
 * it are then made in the order of its modules. What the ranks do together are operators of the
 * model (model/blocks/tensor_parallel.h). */

static void build_begin(ms_tape *tape)
{
    tape->is_meta = true;
}

static void make_again(ms_tape *tape, ms_tensor tensor)
{
    if (tape->status == MS_OK)
        ms_storage_refill(tape, tensor);
}

/* to_empty() of parameters in their order, then of buffers. */
static void build_end(ms_tape *tape)
{
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        ms_storage_empty(tape, tape->parameters.items[i].tensor);
    for (uint32_t i = 0; i < tape->module_buffers.count; i++)
        ms_storage_empty(tape, tape->module_buffers.items[i]);
    tape->is_meta = false;
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        make_again(tape, tape->parameters.items[i].tensor);
    for (uint32_t i = 0; i < tape->module_buffers.count; i++)
        make_again(tape, tape->module_buffers.items[i]);
}

static void micro_step(ms_tape *tape, bool is_last)
{
    (void)tape;
    (void)is_last;
}

const ms_parallel_technique ms_parallel_tp = {
    .build_begin = build_begin, .build_end = build_end, .micro_step = micro_step};

/* ---- parallel ---- */

static const ms_parallel_technique *const techniques[] = {
    [MS_PARALLEL_NONE] = NULL,
    [MS_PARALLEL_DDP] = &ms_parallel_ddp,
    [MS_PARALLEL_FSDP2] = &ms_parallel_fsdp,
    [MS_PARALLEL_FSDP1] = &ms_parallel_fsdp1,
    [MS_PARALLEL_TP] = &ms_parallel_tp,
    [MS_PARALLEL_ZERO] = &ms_parallel_zero,
    [MS_PARALLEL_PP] = &ms_parallel_tp, /* a part of the model is made, nothing is shared */
};

static const ms_parallel_technique *technique_of(const ms_tape *tape)
{
    const ms_parallel *parallel = ms_parallel_of(tape);
    if (parallel && parallel->layout.kind == MS_PARALLEL_ZERO && parallel->layout.stage == 3)
        return &ms_parallel_zero3;
    return parallel ? techniques[parallel->layout.kind] : NULL;
}

void ms_parallel_build_begin(ms_tape *tape, const ms_parallel *parallel)
{
    if (parallel->layout.kind == MS_PARALLEL_NONE)
        return;
    if (!ms_parallel_set(tape, parallel))
        return;
    const ms_parallel_technique *technique = technique_of(tape);
    if (technique->build_begin)
        technique->build_begin(tape);
}

void ms_parallel_build_end(ms_tape *tape)
{
    const ms_parallel_technique *technique = technique_of(tape);
    if (technique && tape->status == MS_OK)
        technique->build_end(tape);
}

void ms_parallel_micro_step(ms_tape *tape, bool is_last)
{
    const ms_parallel_technique *technique = technique_of(tape);
    if (technique && tape->status == MS_OK)
        technique->micro_step(tape, is_last);
}

bool ms_parallel_copies_outputs(const ms_tape *tape)
{
    const ms_parallel_technique *technique = technique_of(tape);
    return technique && technique->copies_outputs && technique->copies_outputs(tape);
}

void ms_parallel_backward_begins(ms_tape *tape)
{
    const ms_parallel_technique *technique = technique_of(tape);
    if (technique && technique->backward_begins && !ms_idle(tape))
        technique->backward_begins(tape);
}

bool ms_parallel_clip(ms_tape *tape)
{
    const ms_parallel_technique *technique = technique_of(tape);
    if (!technique || !technique->clip)
        return false;
    if (!ms_idle(tape))
        technique->clip(tape);
    return true;
}

ms_parallel_host ms_parallel_on_host(const ms_tape *tape)
{
    const ms_parallel_technique *technique = technique_of(tape);
    return technique && technique->on_host ? technique->on_host(tape) : (ms_parallel_host){0};
}

const uint32_t *ms_parallel_stepped(const ms_tape *tape, uint32_t *count)
{
    return ms_zero_optimizer_parameters(tape, count);
}

void ms_parallel_backward_ends(ms_tape *tape)
{
    const ms_parallel_technique *technique = technique_of(tape);
    if (technique && technique->backward_ends && !ms_idle(tape))
        technique->backward_ends(tape);
}

void ms_parallel_stage(ms_tape *tape, uint64_t number, ms_stage_moment moment)
{
    const ms_parallel_technique *technique = technique_of(tape);
    if (technique && technique->stage_moment && !ms_idle(tape))
        technique->stage_moment(tape, number, moment);
}

void ms_parallel_update_begins(ms_tape *tape)
{
    const ms_parallel_technique *technique = technique_of(tape);
    if (technique && technique->update_begins && !ms_idle(tape))
        technique->update_begins(tape);
}

bool ms_parallel_update_ends(ms_tape *tape)
{
    const ms_parallel_technique *technique = technique_of(tape);
    return technique && technique->update_ends && !ms_idle(tape) && technique->update_ends(tape);
}

uint64_t ms_parallel_host_bytes(ms_tape *tape, uint64_t states)
{
    const ms_parallel_technique *technique = technique_of(tape);
    return technique && technique->host_bytes ? technique->host_bytes(tape, states) : 0;
}

bool ms_parallel_gradient_bytes(ms_tape *tape, uint64_t *bytes)
{
    const ms_parallel_technique *technique = technique_of(tape);
    if (!technique || !technique->gradient_bytes)
        return false;
    *bytes = technique->gradient_bytes(tape);
    return true;
}

bool ms_parallel_has_engine(const ms_tape *tape)
{
    const ms_parallel_technique *technique = technique_of(tape);
    return technique && technique->is_engine;
}
