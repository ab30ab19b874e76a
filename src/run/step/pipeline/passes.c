/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/pipeline/passes.h"

#include "torch/autograd/engine.h"
#include "torch/autograd/graph.h"
#include "model/blocks/loss.h"
#include "model/blocks/tensor_parallel.h"
#include "torch/ops/ops.h"
#include "torch/parallel/parallel.h"
#include "core/trace/build.h"

/* Schedules of one stage hold on to what they made last in variables. */
static bool has_variables(const ms_pipeline *p)
{
    return !ms_pipeline_traits_of(p->layout->kind)->has_stages;
}

void ms_pipeline_hold(ms_tape *tape, ms_tensor *variable, ms_tensor value)
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

uint32_t ms_pipeline_leaf(ms_tape *tape, ms_tensor received)
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
    next->leaf = ms_pipeline_leaf(tape, next->activations);
}

void ms_pipeline_forward(ms_pipeline *p, const ms_pipeline_action *action)
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
        ms_pipeline_hold(tape, &p->output, f->output);
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
        ms_pipeline_hold(tape, &p->sent, gradient);
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

void ms_pipeline_backward(ms_pipeline *p, const ms_pipeline_action *action)
{
    ms_tape *tape = p->model->tape;
    ms_flight *f = ms_pipeline_flight(p, action);
    if (p->layout->kind == MS_PIPELINE_GPIPE) /* its variable is of what it receives now */
        ms_pipeline_hold(tape, &p->sent, 0);
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

void ms_pipeline_backward_input(ms_pipeline *p, const ms_pipeline_action *action)
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

void ms_pipeline_backward_weight(ms_pipeline *p, const ms_pipeline_action *action)
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
