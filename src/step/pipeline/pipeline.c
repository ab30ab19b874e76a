/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/pipeline/pipeline.h"

#include "autograd/engine.h"
#include "autograd/graph.h"
#include "model/blocks/loss.h"
#include "model/blocks/tensor_parallel.h"
#include "model/decoder/decoder_stage.h"
#include "ops/ops.h"
#include "parallel/kit/kinds.h"
#include "parallel/parallel.h"
#include "step/pipeline/schedule.h"
#include "trace/build.h"

/* The schedules gather so many stages of a rank at a time. */
enum { MOST_GATHERED = 3 };

/* A micro-batch of a stage. */
typedef struct flight {
    ms_tensor activations, gradients; /* buffers of what is received; 0: nothing is */
    uint32_t leaf;                    /* the received activations in the graph, or MS_NONE */
    uint32_t number;                  /* of its forward */
    ms_tensor output;                 /* from forward to backward */
    ms_tensor loss;                   /* from forward to the end of the step */
    ms_stage_pass pass;
} flight;

struct ms_pipeline {
    ms_model *model;
    const ms_pipeline_layout *layout;
    ms_pipeline_stage *stages;
    bool *is_gathered; /* by stage: as the schedule has it, until the step is over */
    ms_pipeline_action *actions;
    flight *flights;     /* by stage, then micro-batch */
    ms_tensor batch;     /* ids of all micro-batches; 0 before the first step */
    ms_tensor output;    /* of the last forward, as a variable of the schedule holds on to it */
    ms_tensor sent;      /* the gradient that was sent last, in the same way */
    uint32_t stream;     /* of what is sent */
    uint32_t first_leaf; /* leaves of this step are parameters from here on */
};

/* ---- construction ---- */

static flight *flight_of(const ms_pipeline *p, const ms_pipeline_action *action)
{
    return &p->flights[action->stage * p->layout->micro_batches + action->micro_batch];
}

static bool allocate(ms_pipeline *p, ms_arena *arena)
{
    uint64_t stages = p->layout->stages, actions = ms_pipeline_action_count(p->layout);
    p->stages = ms_arena_array(arena, ms_pipeline_stage, stages);
    p->is_gathered = ms_arena_array(arena, bool, stages);
    p->actions = ms_arena_array(arena, ms_pipeline_action, actions);
    p->flights = ms_arena_array(arena, flight, actions / 2);
    return p->stages && p->is_gathered && p->actions && p->flights;
}

ms_pipeline *ms_pipeline_new(ms_model *model)
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
    p->stream = ms_collective_stream(model->tape, "sends", ms_layout_world(&parallel->layout), 2);
    ms_pipeline_schedule(p->layout, rank, p->actions);
    ms_stages_keep(model, p->stages, p->layout->stages);
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
        flight *flights = &p->flights[stage * p->layout->micro_batches];
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

/* The micro-batch's part of the ids, a view; floating. */
static ms_tensor ids_of(ms_pipeline *p)
{
    const uint64_t strides[] = {p->model->seq.value, 1};
    return ms_alias(p->model->tape, p->batch, MS_SHAPE(p->model->batch, p->model->seq), strides);
}

/* Received activations need a gradient: each is a leaf of its micro-batch's graph. */
static void add_leaves(ms_pipeline *p)
{
    ms_tape *tape = p->model->tape;
    p->first_leaf = tape->parameters.count;
    for (uint64_t i = 0; i < p->layout->stages * p->layout->micro_batches; i++) {
        flight *f = &p->flights[i];
        f->leaf = MS_NONE;
        if (!f->activations || tape->status != MS_OK)
            continue;
        const ms_tensor_info info = *ms_info(tape, f->activations);
        f->leaf = ms_leaf_add(tape, ms_alias(tape, f->activations, info.shape, info.strides));
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

/* ---- passes ---- */

/* Schedules of one stage hold on to what they made last in variables. */
static bool has_variables(const ms_pipeline *p)
{
    return p->layout->kind == MS_PIPELINE_1F1B || p->layout->kind == MS_PIPELINE_GPIPE;
}

static void hold(ms_tape *tape, ms_tensor *variable, ms_tensor value)
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

static void compute_loss(ms_pipeline *p, flight *f)
{
    ms_tape *tape = p->model->tape;
    ms_tensor labels = ids_of(p);
    ms_retain(tape, labels);
    const ms_model_inputs in = {.labels = labels};
    f->loss = p->model->run->parallel.splits_loss ? ms_split_loss(p->model, f->output, labels)
                                                  : ms_causal_lm_loss(p->model, f->output, &in);
    ms_retain(tape, f->loss);
    ms_release(tape, labels);
}

static void run_forward(ms_pipeline *p, const ms_pipeline_action *action)
{
    ms_tape *tape = p->model->tape;
    flight *f = flight_of(p, action);
    const ms_pipeline_stage *stage = &p->stages[action->stage];
    tape->host_saved_bytes = tape->passing_saved_bytes = 0;
    tape->pass = MS_PASS_FORWARD;
    tape->micro_step = f->number;
    tape->grad_enabled = true;
    tape->on_backward_thread = false;
    ms_parallel_stage(tape, action->stage, MS_STAGE_BEGINS);
    ms_parallel_micro_step(tape, false);
    ms_tensor input = stage->is_first ? ids_of(p) : tape->parameters.items[f->leaf].tensor;
    ms_retain(tape, input);
    f->output = ms_stage_forward(p->model, stage, input, &f->pass);
    ms_retain(tape, f->output);
    ms_release(tape, input);
    if (has_variables(p))
        hold(tape, &p->output, f->output);
    if (!stage->is_last)
        send(p, f->output);
    else if (!ms_idle(tape))
        compute_loss(p, f);
}

static void backward_from_loss(ms_tape *tape, ms_tensor loss)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *one = ms_local(&f, ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32));
    ms_parallel_backward_begins(tape);
    ms_backward(tape, loss, *one);
    ms_locals_end(&f, NULL);
}

/* The gradient of what was received goes to the stage before; the output's was received. */
static void send_gradient(ms_pipeline *p, const flight *f)
{
    ms_tape *tape = p->model->tape;
    ms_parameter *leaf = &tape->parameters.items[f->leaf];
    ms_tensor gradient = leaf->grad;
    leaf->grad = 0;
    send(p, gradient);
    if (has_variables(p))
        hold(tape, &p->sent, gradient);
    ms_release(tape, gradient);
}

static bool has(const uint32_t *stages, uint32_t count, uint32_t stage)
{
    for (uint32_t i = 0; i < count; i++)
        if (stages[i] == stage)
            return true;
    return false;
}

/* Whether no other backward of the stage follows. */
static bool is_last_of_stage(const ms_pipeline *p, const ms_pipeline_action *action)
{
    const ms_pipeline_action *end = p->actions + ms_pipeline_action_count(p->layout);
    for (const ms_pipeline_action *later = action + 1; later < end; later++)
        if (!later->is_forward && later->stage == action->stage)
            return false;
    return true;
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

static void run_backward(ms_pipeline *p, const ms_pipeline_action *action)
{
    ms_tape *tape = p->model->tape;
    flight *f = flight_of(p, action);
    const ms_pipeline_stage *stage = &p->stages[action->stage];
    if (p->layout->kind == MS_PIPELINE_GPIPE) /* its variable is of what it receives now */
        hold(tape, &p->sent, 0);
    tape->pass = MS_PASS_BACKWARD;
    tape->micro_step = f->number;
    tape->on_backward_thread = true;
    ms_parallel_stage(tape, action->stage, MS_STAGE_BEGINS);
    ms_stage_resume(p->model, &f->pass);
    if (stage->is_last)
        backward_from_loss(tape, f->loss);
    else
        ms_backward(tape, f->output, f->gradients);
    ms_parallel_backward_ends(tape);
    ms_release(tape, f->output);
    f->output = 0;
    if (!stage->is_first && !ms_idle(tape))
        send_gradient(p, f);
    if (is_last_of_stage(p, action))
        ms_parallel_stage(tape, action->stage, MS_STAGE_ENDS);
    tape->pass = MS_PASS_UPDATE;
}

/* ---- the step ---- */

static void finish(ms_pipeline *p)
{
    ms_tape *tape = p->model->tape;
    if (p->layout->kind == MS_PIPELINE_GPIPE) /* in the order of the variables */
        hold(tape, &p->sent, 0);
    hold(tape, &p->output, 0);
    hold(tape, &p->sent, 0);
    for (uint64_t i = 0; i < p->layout->stages * p->layout->micro_batches; i++) {
        ms_release(tape, p->flights[i].loss);
        p->flights[i].loss = 0;
    }
    for (uint64_t i = 0; i < p->layout->stages; i++)
        p->is_gathered[i] = false;
    drop_leaves(p);
    ms_graph_drop(tape);
}

static void number_forwards(ms_pipeline *p)
{
    uint32_t number = 0;
    for (uint64_t i = 0; i < ms_pipeline_action_count(p->layout); i++)
        if (p->actions[i].is_forward)
            flight_of(p, &p->actions[i])->number = number++;
}

void ms_pipeline_step(ms_pipeline *p, const ms_pipeline_listener *listener)
{
    ms_tape *tape = p->model->tape;
    bool is_new = !p->batch;
    uint64_t count = ms_pipeline_action_count(p->layout);
    tape->repeats = 1;
    if (is_new) {
        number_forwards(p);
        make_batch(p);
    }
    for (uint64_t i = 0; i < count && tape->status == MS_OK; i++) {
        const ms_pipeline_action *action = &p->actions[i];
        uint32_t number = flight_of(p, action)->number;
        listener->mark(listener->context, true, action->is_forward, number);
        if (i == 0 && is_new)
            make_all_buffers(p);
        if (i == 0)
            add_leaves(p);
        gather_stages(p, i);
        if (tape->status == MS_OK && action->is_forward)
            run_forward(p, action);
        else if (tape->status == MS_OK)
            run_backward(p, action);
        if (i + 1 == count && tape->status == MS_OK)
            finish(p);
        listener->mark(listener->context, false, action->is_forward, number);
    }
}
