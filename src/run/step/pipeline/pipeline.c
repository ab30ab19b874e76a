/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/pipeline/pipeline.h"

#include "core/trace/build.h"
#include "input/config/model/model_config.h"
#include "input/config/run/layout.h"
#include "model/blocks/loss.h"
#include "model/blocks/tensor_parallel.h"
#include "torch/autograd/engine.h"
#include "torch/autograd/graph.h"
#include "torch/ops/ops.h"
#include "torch/parallel/kit/kinds.h"
#include "torch/parallel/parallel.h"

/* ---- state ---- */

/* The same micro-batch in the rank's other stage, if that follows this one (`next`) or is before
 * it: what it sends stays on the device. NULL otherwise. */
static inline ms_flight *ms_pipeline_neighbour(const ms_pipeline *p,
                                               const ms_pipeline_action *action, bool next)
{
    uint32_t wanted = p->stages[action->stage].index + (next ? 1 : UINT32_MAX);
    for (uint32_t i = 0; i < p->layout->stages; i++)
        if (p->stages[i].index == wanted)
            return &p->flights[i * p->layout->micro_batches + action->micro_batch];
    return NULL;
}

static inline ms_flight *ms_pipeline_flight(const ms_pipeline *p, const ms_pipeline_action *action)
{
    return &p->flights[action->stage * p->layout->micro_batches + action->micro_batch];
}

/* ---- passes ---- */

/* Forward and backward of one micro-batch through a stage. */

/* Schedules of one stage hold on to what they made last in variables. */
static bool has_variables(const ms_pipeline *p)
{
    return !ms_pipeline_traits_of(p->layout->kind)->has_stages;
}

/* The variable holds on to the value (0: to none) in place of what it held. */
static void pipeline_hold(ms_tape *tape, ms_tensor *variable, ms_tensor value)
{
    ms_tensor before = *variable;
    *variable = value;
    ms_retain(tape, value);
    ms_release(tape, before);
}

/* Its memory waits for the stream that sends. */
static void send(const ms_pipeline *p, ms_tensor tensor)
{
    ms_tape *tape = p->model->tape;
    if (ms_idle(tape) || !tensor)
        return;
    if (ms_trace_add_use(tape->trace, ms_info(tape, tensor)->storage, p->stream) == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* ---- parts of passes, run or copied ---- */

/* The micro-batch's part of the ids, a view; floating. */
static ms_tensor ids_of(ms_pipeline *p)
{
    const uint64_t strides[] = {p->model->seq.value, 1};
    return ms_alias(p->model->tape, p->batch, MS_SHAPE(p->model->batch, p->model->seq), strides);
}

/* Runs a part of a micro-batch's passes; returns what it leaves, held once, or 0. */
typedef ms_tensor (*part_runner)(ms_pipeline *p, const ms_pipeline_action *action, ms_flight *f);

/* From what the stage receives, or the ids, to its output. */
static ms_tensor run_stage(ms_pipeline *p, const ms_pipeline_action *action, ms_flight *f)
{
    ms_tape *tape = p->model->tape;
    const ms_pipeline_stage *stage = &p->stages[action->stage];
    ms_tensor input = stage->is_first ? ids_of(p) : tape->parameters.items[f->leaf].tensor;
    ms_retain(tape, input);
    ms_tensor output = ms_stage_forward(p->model, stage, input, &f->pass);
    ms_retain(tape, output);
    ms_release(tape, input);
    return output;
}

static ms_tensor run_loss(ms_pipeline *p, const ms_pipeline_action *action, ms_flight *f)
{
    (void)action;
    ms_tape *tape = p->model->tape;
    ms_tensor labels = ids_of(p);
    ms_retain(tape, labels);
    const ms_model_inputs in = {.labels = labels};
    ms_tensor loss = p->model->run->parallel.splits_loss
                         ? ms_split_loss(p->model, f->output, labels)
                         : ms_causal_lm_loss(p->model, f->output, &in);
    ms_retain(tape, loss);
    ms_release(tape, labels);
    return loss;
}

static void backward_from_loss(ms_tape *tape, ms_tensor loss)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *one = ms_local(&f, ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32));
    ms_parallel_backward_begins(tape);
    ms_backward(tape, loss, *one);
    ms_locals_end(&f, NULL);
}

/* Returns the gradient of what was received. */
static ms_tensor run_backward(ms_pipeline *p, const ms_pipeline_action *action, ms_flight *f)
{
    ms_tape *tape = p->model->tape;
    const ms_pipeline_stage *stage = &p->stages[action->stage];
    ms_stage_resume(p->model, &f->pass);
    if (stage->is_last)
        backward_from_loss(tape, f->loss);
    else
        ms_backward(tape, f->output, f->gradients);
    ms_parallel_backward_ends(tape);
    if (stage->is_first || ms_idle(tape))
        return 0;
    ms_parameter *leaf = &tape->parameters.items[f->leaf];
    ms_tensor gradient = leaf->grad;
    leaf->grad = 0;
    return gradient;
}

static void give_up(ms_pipeline *p)
{
    if (p->model->tape->status != MS_OK)
        return;
    p->differs = true;
    ms_tape_fail(p->model->tape, MS_ERR_CONFIG);
}

static ms_tensor copy_part(ms_pipeline *p, const ms_recorded_pass *recorded, ms_flight_part part,
                           ms_flight *f)
{
    ms_tape *tape = p->model->tape;
    ms_tensor result = 0;
    if (!ms_pass_copy(recorded, tape, part, &f->made, &result))
        give_up(p);
    ms_retain(tape, result);
    return result;
}

static ms_tensor do_part(ms_pipeline *p, const ms_pipeline_action *action, ms_flight_part part,
                         part_runner run)
{
    ms_tape *tape = p->model->tape;
    ms_flight *f = ms_pipeline_flight(p, action);
    ms_recorded_pass *recorded = &p->recorded[action->stage].part[part];
    uint32_t turn = action->pass == MS_PIPELINE_FORWARD ? f->forward_turn : f->backward_turn;
    if (ms_idle(tape))
        return 0;
    if (f->is_copied)
        return copy_part(p, recorded, part, f);
    if (!p->copies || !p->is_first_step)
        return run(p, action, f);
    ms_pass_begin(&p->recorder, tape);
    ms_tensor result = run(p, action, f);
    ms_pass_end(&p->recorder, tape, part, &f->made);
    if (turn == 1 &&
        !ms_pass_record(&p->recorder, tape, p->model->arena, part, &f->made, result, recorded))
        give_up(p);
    return result;
}

/* ---- passes ---- */

/* A leaf of the graph, on a received tensor: its parameter number. */
static uint32_t pipeline_leaf(ms_tape *tape, ms_tensor received)
{
    const ms_tensor_info info = *ms_info(tape, received);
    return ms_leaf_add(tape, ms_alias(tape, received, info.shape, info.strides));
}

/* An alias of the tensor takes the place of a buffer. */
static void replace(ms_tape *tape, ms_tensor *buffer, ms_tensor tensor)
{
    const ms_tensor_info info = *ms_info(tape, tensor);
    ms_tensor alias = ms_alias(tape, tensor, info.shape, info.strides);
    ms_retain(tape, alias);
    ms_release(tape, *buffer);
    *buffer = alias;
}

/* set_local_fwd_input */
static void hand_forward(ms_pipeline *p, ms_flight *next, ms_tensor output)
{
    ms_tape *tape = p->model->tape;
    if (ms_idle(tape) || !output)
        return;
    replace(tape, &next->activations, output);
    next->leaf = pipeline_leaf(tape, next->activations);
}

static void pipeline_forward(ms_pipeline *p, const ms_pipeline_action *action)
{
    ms_tape *tape = p->model->tape;
    ms_flight *f = ms_pipeline_flight(p, action);
    tape->host_saved_bytes = tape->passing_saved_bytes = 0;
    tape->pass = MS_PASS_FORWARD;
    tape->micro_step = f->number;
    tape->grad_enabled = true;
    tape->on_backward_thread = false;
    ms_parallel_stage(tape, action->stage, MS_STAGE_BEGINS);
    ms_parallel_micro_step(tape, false);
    f->split.first = tape->nodes.count;
    f->output = do_part(p, action, MS_FLIGHT_FORWARD, run_stage);
    if (has_variables(p))
        pipeline_hold(tape, &p->output, f->output);
    if (p->stages[action->stage].is_last)
        f->loss = do_part(p, action, MS_FLIGHT_LOSS, run_loss);
    else if (ms_pipeline_neighbour(p, action, true))
        hand_forward(p, ms_pipeline_neighbour(p, action, true), f->output);
    else
        send(p, f->output);
    f->split.end = tape->nodes.count;
}

/* The gradient of what was received goes to the stage before; the output's was received. */
static void send_gradient(ms_pipeline *p, ms_tensor gradient)
{
    ms_tape *tape = p->model->tape;
    send(p, gradient);
    if (has_variables(p))
        pipeline_hold(tape, &p->sent, gradient);
    ms_release(tape, gradient);
}

/* Whether no other backward of the stage follows. */
static bool is_last_of_stage(const ms_pipeline *p, const ms_pipeline_action *action)
{
    const ms_pipeline_action *end = p->actions + ms_pipeline_action_count(p->layout);
    for (const ms_pipeline_action *later = action + 1; later < end; later++)
        if (later->pass == MS_PIPELINE_BACKWARD && later->stage == action->stage)
            return false;
    return true;
}

static void pipeline_backward(ms_pipeline *p, const ms_pipeline_action *action)
{
    ms_tape *tape = p->model->tape;
    ms_flight *f = ms_pipeline_flight(p, action);
    if (p->layout->kind == MS_PIPELINE_GPIPE) /* its variable is of what it receives now */
        pipeline_hold(tape, &p->sent, 0);
    tape->pass = MS_PASS_BACKWARD;
    tape->micro_step = f->number;
    tape->on_backward_thread = true;
    ms_parallel_stage(tape, action->stage, MS_STAGE_BEGINS);
    ms_tensor gradient = do_part(p, action, MS_FLIGHT_BACKWARD, run_backward);
    ms_release(tape, f->output);
    f->output = 0;
    if (gradient)
        send_gradient(p, gradient);
    if (is_last_of_stage(p, action))
        ms_parallel_stage(tape, action->stage, MS_STAGE_ENDS);
    tape->pass = MS_PASS_UPDATE;
}

/* ---- backward in two parts ---- */

static void enter_backward(ms_pipeline *p, const ms_pipeline_action *action)
{
    ms_tape *tape = p->model->tape;
    ms_flight *f = ms_pipeline_flight(p, action);
    tape->pass = MS_PASS_BACKWARD;
    tape->micro_step = f->number;
    tape->on_backward_thread = true;
    ms_stage_resume(p->model, &f->pass);
}

static bool has_split_tables(ms_pipeline *p, ms_flight *f)
{
    uint32_t nodes = f->split.end - f->split.first + 1;
    f->split.holders = ms_arena_array(p->model->arena, uint32_t, nodes);
    f->split.groups = ms_arena_array(p->model->arena, ms_split_group, nodes);
    if (!f->split.holders || !f->split.groups)
        ms_tape_fail(p->model->tape, MS_ERR_NOMEM);
    return p->model->tape->status == MS_OK;
}

static void split_from_loss(ms_tape *tape, ms_flight *f)
{
    ms_locals l = ms_locals_begin(tape);
    ms_tensor *one = ms_local(&l, ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32));
    ms_backward_inputs(tape, f->loss, *one, &f->split);
    ms_locals_end(&l, NULL);
}

/* The same in two parts. The first stage does nothing in the first and all in the second. */
static void pipeline_backward_input(ms_pipeline *p, const ms_pipeline_action *action)
{
    ms_tape *tape = p->model->tape;
    ms_flight *f = ms_pipeline_flight(p, action);
    const ms_pipeline_stage *stage = &p->stages[action->stage];
    if (stage->is_first || !has_split_tables(p, f))
        return;
    enter_backward(p, action);
    if (stage->is_last)
        split_from_loss(tape, f);
    else
        ms_backward_inputs(tape, f->output, f->gradients, &f->split);
    if (stage->is_last) {
        ms_release(tape, f->output);
        f->output = 0;
    }
    if (!ms_idle(tape)) {
        f->input_gradient = tape->parameters.items[f->leaf].grad;
        tape->parameters.items[f->leaf].grad = 0;
        ms_flight *before = ms_pipeline_neighbour(p, action, false);
        if (before) /* set_local_bwd_input */
            replace(tape, &before->gradients, f->input_gradient);
        else
            send(p, f->input_gradient);
    }
    tape->pass = MS_PASS_UPDATE;
}

static void pipeline_backward_weight(ms_pipeline *p, const ms_pipeline_action *action)
{
    ms_tape *tape = p->model->tape;
    ms_flight *f = ms_pipeline_flight(p, action);
    enter_backward(p, action);
    if (p->stages[action->stage].is_first)
        ms_backward(tape, f->output, f->gradients);
    else
        ms_backward_weights(tape, &f->split);
    ms_release(tape, f->output);
    f->output = 0;
    tape->pass = MS_PASS_UPDATE;
}

/* ---- pipeline ---- */

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
            f->leaf = pipeline_leaf(tape, f->activations);
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
        pipeline_hold(tape, &p->sent, 0);
    pipeline_hold(tape, &p->output, 0);
    pipeline_hold(tape, &p->sent, 0);
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
        pipeline_forward(p, action);
        break;
    case MS_PIPELINE_BACKWARD:
        pipeline_backward(p, action);
        break;
    case MS_PIPELINE_INPUT:
        pipeline_backward_input(p, action);
        break;
    case MS_PIPELINE_WEIGHT:
        pipeline_backward_weight(p, action);
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
