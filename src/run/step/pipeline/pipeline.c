/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/pipeline/pipeline.h"

#include "input/config/model/model_config.h"
#include "torch/autograd/engine.h"
#include "torch/autograd/graph.h"
#include "model/blocks/tensor_parallel.h"
#include "torch/parallel/kit/kinds.h"
#include "torch/parallel/parallel.h"
#include "run/step/pipeline/passes.h"

/* The schedules gather so many stages of a rank at a time. */
enum { MOST_GATHERED = 3 };

/* ---- construction ---- */

static bool allocate(ms_pipeline *p, ms_arena *arena)
{
    uint64_t stages = p->layout->stages, actions = ms_pipeline_action_count(p->layout);
    p->stages = ms_arena_array(arena, ms_pipeline_stage, stages);
    p->is_gathered = ms_arena_array(arena, bool, stages);
    p->actions = ms_arena_array(arena, ms_pipeline_action, actions);
    p->flights = ms_arena_array(arena, ms_flight, stages * p->layout->micro_batches);
    p->recorded = ms_arena_array(arena, ms_recorded_stage, stages);
    return p->stages && p->is_gathered && p->actions && p->flights && p->recorded;
}

/* Stages that follow each other on this rank hand on tensors themselves. */
static void find_local(ms_pipeline *p)
{
    for (uint32_t stage = 0; stage < p->layout->stages; stage++)
        for (uint32_t i = 0; i < p->layout->micro_batches; i++) {
            const ms_pipeline_action action = {MS_PIPELINE_FORWARD, stage, i};
            ms_flight *next = ms_pipeline_neighbour(p, &action, true);
            if (next)
                next->is_local = true;
        }
}

ms_pipeline *ms_pipeline_new(ms_model *model, bool copies)
{
    const ms_parallel *parallel = &model->run->parallel;
    uint64_t rank = ms_parallel_pipeline_rank(parallel);
    ms_pipeline *p = ms_arena_array(model->arena, ms_pipeline, 1);
    if (p)
        *p = (ms_pipeline){.model = model, .layout = &parallel->layout.pipeline};
    if (!p || !allocate(p, model->arena)) {
        ms_tape_fail(model->tape, MS_ERR_NOMEM);
        return NULL;
    }
    for (uint64_t i = 0; i < p->layout->stages; i++)
        p->stages[i] = ms_pipeline_stage_of(p->layout, rank, i, model->config->num_layers);
    find_local(p);
    p->stream = ms_collective_stream(model->tape, "sends", ms_layout_world(&parallel->layout), 2);
    ms_pipeline_schedule(p->layout, rank, p->actions);
    ms_stages_keep(model, p->stages, p->layout->stages);
    p->recorder.parameters = model->tape->parameters.count;
    p->recorder.gradients = ms_arena_array(model->arena, uint32_t, p->recorder.parameters + 1);
    if (!p->recorder.gradients)
        ms_tape_fail(model->tape, MS_ERR_NOMEM);
    /* What gathers and reduces has states of its own, from one micro-batch to the next. */
    p->copies = copies && !ms_layout_shards(&parallel->layout) &&
                !ms_pipeline_traits_of(p->layout->kind)->is_split;
    return p;
}

/* ---- what is received ---- */

static ms_tensor new_buffer(ms_model *model, const char *name)
{
    ms_tape *tape = model->tape;
    const ms_shape shape = MS_SHAPE(model->batch, ms_rank_tokens(model), model->hidden);
    ms_tensor buffer = ms_empty(tape, shape, model->run->dtype);
    ms_retain(tape, buffer);
    if (buffer)
        ms_name_storage(tape, buffer, name, MS_CATEGORY_INPUT);
    return buffer;
}

static void make_buffers(ms_pipeline *p, bool of_gradients)
{
    for (uint64_t stage = 0; stage < p->layout->stages; stage++) {
        ms_flight *flights = &p->flights[stage * p->layout->micro_batches];
        bool receives = of_gradients ? !p->stages[stage].is_last : !p->stages[stage].is_first;
        for (uint64_t i = 0; receives && i < p->layout->micro_batches; i++) {
            if (of_gradients)
                flights[i].gradients = new_buffer(p->model, "received_gradients");
            else
                flights[i].activations = new_buffer(p->model, "received_activations");
        }
    }
}

/* Each stage first greets its neighbours with a number, and gets one. */
static void make_all_buffers(ms_pipeline *p)
{
    ms_tape *tape = p->model->tape;
    uint64_t count = 2 * p->layout->stages;
    ms_tensor *greetings = ms_arena_array(p->model->arena, ms_tensor, count);
    if (!greetings) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        greetings[i] = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32);
        ms_retain(tape, greetings[i]);
    }
    make_buffers(p, false);
    make_buffers(p, true);
    for (uint64_t i = 0; i < count; i++)
        ms_release(tape, greetings[i]);
}

static void make_batch(ms_pipeline *p)
{
    ms_model *model = p->model;
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim sequences = ms_dim_mul(s, model->batch, ms_dim_number(s, p->layout->micro_batches));
    p->batch = ms_empty(model->tape, MS_SHAPE(sequences, model->seq), MS_DTYPE_I64);
    ms_retain(model->tape, p->batch);
    if (p->batch)
        ms_name_storage(model->tape, p->batch, "batch_ids", MS_CATEGORY_INPUT);
}

/* clear_runtime_states: what a backward in two parts leaves at the buffers. */
static void clear_gradients(ms_pipeline *p)
{
    for (uint64_t i = 0; i < p->layout->stages * p->layout->micro_batches; i++) {
        ms_release(p->model->tape, p->flights[i].input_gradient);
        p->flights[i].input_gradient = 0;
    }
}

/* Received activations need a gradient: each is a leaf of its micro-batch's graph. */
static void add_leaves(ms_pipeline *p)
{
    ms_tape *tape = p->model->tape;
    p->first_leaf = tape->parameters.count;
    for (uint64_t i = 0; i < p->layout->stages * p->layout->micro_batches; i++) {
        ms_flight *f = &p->flights[i];
        f->leaf = MS_NONE;
        if (f->activations && !f->is_local && tape->status == MS_OK)
            f->leaf = ms_pipeline_leaf(tape, f->activations);
    }
}

static void drop_leaves(ms_pipeline *p)
{
    ms_tape *tape = p->model->tape;
    while (tape->parameters.count > p->first_leaf && tape->status == MS_OK) {
        const ms_parameter leaf = tape->parameters.items[--tape->parameters.count];
        ms_release(tape, leaf.grad);
        ms_release(tape, leaf.tensor);
    }
}

/* ---- stages that are gathered ---- */

static bool has(const uint32_t *stages, uint32_t count, uint32_t stage)
{
    for (uint32_t i = 0; i < count; i++)
        if (stages[i] == stage)
            return true;
    return false;
}

/* Which stages run from this action on, the first few. */
static uint32_t next_stages(const ms_pipeline *p, uint64_t action, uint32_t next[MOST_GATHERED])
{
    uint32_t count = 0;
    for (uint64_t i = action; i < ms_pipeline_action_count(p->layout) && count < MOST_GATHERED; i++)
        if (!has(next, count, p->actions[i].stage))
            next[count++] = p->actions[i].stage;
    return count;
}

/* Before an action: stages that run soon are gathered, others make room. */
static void gather_stages(ms_pipeline *p, uint64_t action)
{
    uint32_t next[MOST_GATHERED], count = next_stages(p, action, next);
    for (uint32_t i = 0; i < p->layout->stages; i++) {
        if (p->is_gathered[i] && !has(next, count, i)) {
            ms_parallel_stage(p->model->tape, i, MS_STAGE_LEAVES);
            p->is_gathered[i] = false;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!p->is_gathered[next[i]])
            ms_parallel_stage(p->model->tape, next[i], MS_STAGE_GATHERS);
        p->is_gathered[next[i]] = true;
    }
}

/* ---- the step ---- */

static void finish(ms_pipeline *p)
{
    ms_tape *tape = p->model->tape;
    if (p->layout->kind == MS_PIPELINE_GPIPE) /* in the order of the variables */
        ms_pipeline_hold(tape, &p->sent, 0);
    ms_pipeline_hold(tape, &p->output, 0);
    ms_pipeline_hold(tape, &p->sent, 0);
    for (uint64_t i = 0; i < p->layout->stages * p->layout->micro_batches; i++) {
        ms_release(tape, p->flights[i].loss);
        p->flights[i].loss = 0;
    }
    for (uint64_t i = 0; i < p->layout->stages; i++)
        p->is_gathered[i] = false;
    drop_leaves(p);
    ms_graph_drop(tape);
}

static void number_passes(ms_pipeline *p)
{
    uint32_t number = 0;
    for (uint64_t i = 0; i < ms_pipeline_action_count(p->layout); i++) {
        ms_flight *f = ms_pipeline_flight(p, &p->actions[i]);
        uint32_t *turns = p->recorded[p->actions[i].stage].turns;
        if (p->actions[i].pass == MS_PIPELINE_FORWARD) {
            f->number = number++;
            f->forward_turn = turns[0]++;
        } else if (p->actions[i].pass == MS_PIPELINE_BACKWARD) {
            f->backward_turn = turns[1]++;
        }
    }
}

/* The first backward of a step differs: it has no gradients to add to. In the first step the second
 * micro-batch of each pass is the one that others are copies of. */
static bool is_copied(const ms_pipeline *p, const ms_flight *f)
{
    if (!p->copies || p->model->tape->recording)
        return false;
    return p->is_first_step ? f->forward_turn > 1 && f->backward_turn > 1 : f->backward_turn > 0;
}

static void choose_copies(ms_pipeline *p)
{
    for (uint64_t i = 0; i < p->layout->stages * p->layout->micro_batches; i++)
        p->flights[i].is_copied = is_copied(p, &p->flights[i]);
}

static void run_action(ms_pipeline *p, const ms_pipeline_action *action)
{
    switch (action->pass) {
    case MS_PIPELINE_FORWARD:
        ms_pipeline_forward(p, action);
        break;
    case MS_PIPELINE_BACKWARD:
        ms_pipeline_backward(p, action);
        break;
    case MS_PIPELINE_INPUT:
        ms_pipeline_backward_input(p, action);
        break;
    case MS_PIPELINE_WEIGHT:
        ms_pipeline_backward_weight(p, action);
        break;
    }
}

void ms_pipeline_step(ms_pipeline *p, const ms_pipeline_listener *listener)
{
    ms_tape *tape = p->model->tape;
    bool is_new = !p->batch;
    uint64_t count = ms_pipeline_action_count(p->layout);
    tape->repeats = 1;
    p->is_first_step = is_new;
    if (is_new) {
        number_passes(p);
        make_batch(p);
    }
    choose_copies(p);
    for (uint64_t i = 0; i < count && tape->status == MS_OK; i++) {
        const ms_pipeline_action *action = &p->actions[i];
        uint32_t number = ms_pipeline_flight(p, action)->number;
        bool is_forward = action->pass == MS_PIPELINE_FORWARD;
        listener->mark(listener->context, true, is_forward, number);
        if (i == 0 && is_new)
            make_all_buffers(p);
        if (i == 0) {
            clear_gradients(p);
            add_leaves(p);
        }
        gather_stages(p, i);
        if (tape->status == MS_OK)
            run_action(p, action);
        if (i + 1 == count && tape->status == MS_OK)
            finish(p);
        listener->mark(listener->context, false, is_forward, number);
    }
}

bool ms_pipeline_differs(const ms_pipeline *pipeline)
{
    return pipeline && pipeline->differs;
}
