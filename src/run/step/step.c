/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The training loop: build, then three steps. The first creates optimizer states and workspaces,
 * the second brings the allocator into its steady state, the third is the steady step that is
 * reported.
 */
#include "run/step/step.h"

#include <string.h>

#include "base/arena.h"
#include "core/trace/build.h"
#include "input/config/model/model_config.h"
#include "input/config/run/attention.h"
#include "model/blocks/adapter.h"
#include "model/blocks/tensor_parallel.h"
#include "run/step/batches.h"
#include "run/step/clip.h"
#include "run/step/figures.h"
#include "run/step/forward.h"
#include "run/step/optimizer.h"
#include "run/step/pipeline/pipeline.h"
#include "run/step/run.h"
#include "torch/autograd/engine.h"
#include "torch/autograd/graph.h"
#include "torch/ops/ops.h"
#include "torch/parallel/context.h"
#include "torch/parallel/parallel.h"
#include "torch/treatments/host_parameters.h"
#include "torch/treatments/offload.h"
#include "torch/treatments/selective.h"

/* ---- accumulation ---- */

/* Gradient accumulation in fp32 for half-precision parameters: a hook adds each gradient to a
 * buffer, created by the first one, and releases it; before the optimizer step the sums are
 * cast back to the parameters' dtype. */

static void name_gradient(ms_tape *tape, const ms_parameter *parameter, ms_tensor tensor)
{
    uint32_t storage = ms_info(tape, tensor)->storage;
    ms_trace_categorize(tape->trace, storage, MS_CATEGORY_GRADIENT);
    ms_trace_label(tape->trace, storage, parameter->name, parameter->scope);
}

static void drop(ms_tape *tape, ms_parameter *parameter)
{
    ms_tensor grad = parameter->grad;
    parameter->grad = 0;
    ms_release(tape, grad);
}

static ms_tensor new_gradient(ms_tape *tape, const ms_parameter *parameter, ms_tensor like,
                              ms_dtype dtype)
{
    ms_tensor tensor = ms_empty_like(tape, like, dtype);
    ms_retain(tape, tensor);
    if (tensor)
        name_gradient(tape, parameter, tensor);
    return tensor;
}

static const ms_op add_op = {.name = "add_"};

static void add_to_sum(ms_tape *tape, void *context, uint32_t index)
{
    (void)context;
    ms_parameter *parameter = &tape->parameters.items[index];
    ms_dtype dtype = (ms_dtype)ms_info(tape, parameter->tensor)->dtype;
    if (dtype == MS_DTYPE_F32)
        return;
    ms_op_mark mark = ms_op_begin(tape, &add_op);
    ms_op_operand(tape, mark, parameter->grad, false);
    if (!parameter->sum)
        parameter->sum = new_gradient(tape, parameter, parameter->grad, MS_DTYPE_F32);
    else if (tape->on_cpu) /* its kernels compute in one type */
        ms_consume(tape, ms_empty_like(tape, parameter->grad, MS_DTYPE_F32));
    ms_op_operand(tape, mark, parameter->sum, true);
    ms_op_end(tape, mark);
    drop(tape, parameter);
}

/* Install accumulation if the run asks for it, and hand the sums over to the parameters. */
static void accumulation_build(ms_tape *tape)
{
    if (ms_step_run(tape)->training.accumulation == MS_ACCUMULATE_F32 &&
        !ms_parallel_has_engine(tape))
        ms_hooks_push_gradient(tape, (ms_gradient_hook){.accumulated = add_to_sum});
}

static void accumulation_hand_over(ms_tape *tape)
{
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++) {
        ms_parameter *parameter = &tape->parameters.items[i];
        if (parameter->sum)
            parameter->grad = new_gradient(tape, parameter, parameter->sum,
                                           (ms_dtype)ms_info(tape, parameter->tensor)->dtype);
    }
}

/* ---- step ---- */

enum { STEADY_STEP = 3 };

/* Micro-steps from the second on do the same; the allocator settles within one or two more. The
 * last of these stands for all that follow; with several ranks the one before it does, as the last
 * differs. */
enum { MOST_MICRO_STEPS = 4, MANY_LAYERS = 1000, MOST_OF_MANY_LAYERS = 2, LEAST_OF_RANKS = 3 };

typedef struct trainer {
    ms_tape tape;
    ms_model model;
    ms_batches batches;
    ms_pipeline *pipeline; /* NULL: this rank has all layers */
    bool copies;           /* passes of the pipeline that others did */
    uint16_t step;
    ms_step_detail detail;
    ms_simulation *simulation;
    ms_error *err;
} trainer;

static void mark(trainer *t, bool begin, ms_phase phase, uint32_t micro_step)
{
    ms_step_mark(&t->tape, begin, phase, t->step, micro_step);
}

/* ---- phases ---- */

/* With context parallelism each micro-step has its own inputs. */
static ms_tensor enter_context(trainer *t, ms_tensor ids)
{
    const ms_context_parts parts = ms_context_enter(&t->tape);
    if (!parts.ids)
        return ids;
    t->model.position_ids = parts.positions;
    return parts.ids;
}

static ms_tensor run_forward(trainer *t, uint64_t index, uint32_t micro_step)
{
    ms_tape *tape = &t->tape;
    const ms_tensor batch = ms_batches_enter(&t->batches, index);
    mark(t, true, MS_PHASE_FORWARD, micro_step);
    const ms_tensor ids = enter_context(t, batch);
    tape->host_saved_bytes = tape->passing_saved_bytes = 0;
    tape->pass = MS_PASS_FORWARD;
    tape->micro_step = micro_step;
    tape->grad_enabled = true;
    tape->on_backward_thread = false;
    const ms_model_outputs out = ms_forward(&t->model, ids, false);
    const ms_tensor loss = ms_batches_take(&t->batches, out.loss);
    mark(t, false, MS_PHASE_FORWARD, micro_step);
    return loss;
}

/* PyTorch's backward fails there as well; so has an adapter of a head that a kernel reads past. */
static bool has_gradient(trainer *t, ms_tensor loss)
{
    ms_tape *tape = &t->tape;
    if (!loss || ms_idle(tape) || ms_info(tape, loss)->node != MS_NONE)
        return true;
    ms_tape_fail(
        tape, ms_fail(t->err, MS_ERR_CONFIG, "the loss does not depend on any trained parameter"));
    return false;
}

static void run_backward(trainer *t, uint32_t micro_step, ms_tensor loss)
{
    ms_tape *tape = &t->tape;
    if (!has_gradient(t, loss))
        return;
    mark(t, true, MS_PHASE_BACKWARD, micro_step);
    uint64_t every = t->model.run->training.empty_cache_steps;
    if (every && (uint64_t)(t->step - 1) % every == 0)
        ms_trace_event(tape, MS_EVENT_EMPTY_CACHE, 0);
    tape->pass = MS_PASS_BACKWARD;
    tape->on_backward_thread = true;
    ms_locals scaled = ms_locals_begin(tape);
    if (ms_parallel_has_engine(tape)) { /* loss / micro-steps, times the scale of the loss */
        loss = *ms_local(&scaled, ms_div_scalar(tape, loss));
        loss = *ms_local(&scaled, ms_mul_scalar(tape, loss));
    }
    ms_locals f = ms_locals_begin(tape);
    ms_shape scalar = {.rank = 0};
    ms_dtype dtype = loss ? (ms_dtype)ms_info(tape, loss)->dtype : MS_DTYPE_F32;
    ms_tensor *one = ms_local(&f, ms_empty(tape, scalar, dtype));
    if (ms_forward_has_loss(&t->model)) /* else the gradient of its output begins it */
        ms_parallel_backward_begins(tape);
    ms_backward(tape, loss, *one);
    ms_locals_end(&f, NULL);
    ms_parallel_backward_ends(tape);
    ms_locals_end(&scaled, NULL);
    mark(t, false, MS_PHASE_BACKWARD, micro_step);
    tape->pass = MS_PASS_UPDATE;
}

/* Ranks may reduce gradients in the last micro-step alone. */
static bool last_differs(const trainer *t)
{
    return t->model.run->parallel.layout.kind != MS_PARALLEL_NONE;
}

static uint64_t simulated_micro_steps(const trainer *t)
{
    uint64_t asked = t->model.run->training.accumulate;
    uint64_t most =
        t->model.config->num_layers > MANY_LAYERS ? MOST_OF_MANY_LAYERS : MOST_MICRO_STEPS;
    if (last_differs(t) && most < LEAST_OF_RANKS)
        most = LEAST_OF_RANKS;
    return asked < most ? asked : most;
}

/* The micro-steps that this one of the simulated ones stands for. */
static uint32_t repeats_of(const trainer *t, uint64_t index)
{
    uint64_t asked = t->model.run->training.accumulate, simulated = simulated_micro_steps(t);
    uint64_t last = simulated - (last_differs(t) && simulated > 1 ? 2 : 1);
    return index == last ? (uint32_t)(asked - simulated + 1) : 1;
}

static void run_micro_steps(trainer *t)
{
    ms_tape *tape = &t->tape;
    uint64_t simulated = simulated_micro_steps(t);
    for (uint32_t i = 0, number = 0; i < simulated && tape->status == MS_OK; i++) {
        tape->repeats = repeats_of(t, i);
        ms_parallel_micro_step(tape, i + 1 == simulated);
        ms_tensor loss = run_forward(t, i, number);
        if (t->tape.recording && i == 0)
            ms_figures_sum_saved(tape, t->simulation);
        run_backward(t, number, loss);
        number += tape->repeats;
        ms_release(tape, loss);
        ms_graph_drop(tape);
        ms_batches_leave(&t->batches);
        ms_context_leave(tape);
    }
    tape->repeats = 1;
}

static void mark_stage(void *context, bool begin, bool is_forward, uint32_t number)
{
    trainer *t = context;
    mark(t, begin, is_forward ? MS_PHASE_FORWARD : MS_PHASE_BACKWARD, number);
    if (t->tape.recording && !begin && is_forward && number == 0)
        ms_figures_sum_saved(&t->tape, t->simulation);
}

static void run_step(trainer *t)
{
    ms_tape *tape = &t->tape;
    ms_batches_begin(&t->batches);
    if (t->pipeline)
        ms_pipeline_step(t->pipeline, &(ms_pipeline_listener){mark_stage, t});
    else
        run_micro_steps(t);
    if (t->model.run->training.clip && !ms_parallel_has_engine(tape)) {
        mark(t, true, MS_PHASE_CLIP, 0);
        ms_clip_gradients(tape);
        mark(t, false, MS_PHASE_CLIP, 0);
    }
    ms_batches_measured(&t->batches);
    mark(t, true, MS_PHASE_OPTIMIZER, 0);
    accumulation_hand_over(tape);
    ms_parallel_update_begins(tape);
    do
        ms_optimizer_step(tape);
    while (ms_parallel_update_ends(tape));
    mark(t, false, MS_PHASE_OPTIMIZER, 0);
    mark(t, true, MS_PHASE_ZERO_GRAD, 0);
    ms_zero_grad(tape);
    mark(t, false, MS_PHASE_ZERO_GRAD, 0);
}

/* An evaluation between two steps: no dropout, layers are not treated. */
static void run_evaluation(trainer *t)
{
    ms_tape *tape = &t->tape;
    ms_model *model = &t->model;
    ms_run_config run = *model->run;
    bool has_logits = run.training.eval_logits > 0;
    run.treatments.loss_chunks = 0;
    run.treatments.layers = ms_arena_array(model->arena, ms_treatment, model->config->num_layers);
    bool fuses = ms_liger_fuses_head(run.liger, run.liger_family);
    run.liger &= fuses && has_logits ? ~(uint64_t)MS_LIGER_LOSS : MS_LIGER_ALL;
    if (!run.treatments.layers)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    if (tape->status != MS_OK)
        return;
    tape->is_evaluating = true;
    tape->grad_enabled = tape->on_backward_thread = false;
    tape->pass = MS_PASS_FORWARD;
    ms_evaluation evaluation = ms_evaluation_begin(model, &run);
    mark(t, true, MS_PHASE_EVALUATION, 0);
    ms_evaluate(model, evaluation.given.ids, !fuses || has_logits);
    mark(t, false, MS_PHASE_EVALUATION, 0);
    ms_evaluation_end(model, &evaluation);
    tape->is_evaluating = false;
}

/* A model whose whole weights are on the device first has them in the type of the shards. */
static void build_model(trainer *t)
{
    const ms_run_config *run = t->model.run;
    ms_run_config stored = *run;
    stored.dtype = run->parallel.shard_dtype;
    if (ms_layout_shards(&run->parallel.layout) && run->parallel.build == MS_BUILD_DEVICE)
        t->model.run = &stored;
    /* from_pretrained() leaves buffers in the type they are made in */
    ms_step_build_model(&t->model, run->parallel.build != MS_BUILD_DEVICE_MAP, t->err);
    t->model.run = run;
}

static bool build(trainer *t)
{
    ms_tape *tape = &t->tape;
    tape->repeats = 1;
    mark(t, true, MS_PHASE_BUILD, 0);
    ms_parallel_build_begin(tape, &t->model.run->parallel);
    build_model(t);
    ms_figures_count_parameters(tape, t->simulation);
    if (ms_layout_has_stages(&t->model.run->parallel.layout) && tape->status == MS_OK)
        t->pipeline = ms_pipeline_new(&t->model, t->copies);
    ms_parallel_build_end(tape);
    ms_tensor_parallel_positions(&t->model);
    ms_optimizer_build(tape);
    accumulation_build(tape);
    tape->new_category = MS_CATEGORY_INPUT;
    ms_context_build(tape, MS_SHAPE(t->model.batch, t->model.seq));
    ms_batches_build(&t->batches, &t->model);
    if (t->model.run->images.count)
        ms_step_new_images(&t->model);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    mark(t, false, MS_PHASE_BUILD, 0);
    return tape->status == MS_OK;
}

/* What a layer leaves in the tables, on the generous side, so that they need not grow by copying.
 */
static void expect_layers(trainer *t)
{
    enum { EVENTS = 1000, STORAGES = 420, NODES = 96, OPERATORS = 180, OPERANDS = 540 };
    uint64_t layers = t->model.config->num_layers + 2;
    uint64_t repeats = layers * simulated_micro_steps(t);
    const ms_trace_room room = {EVENTS * repeats, STORAGES * repeats, OPERATORS * repeats,
                                OPERANDS * repeats};
    if (!ms_trace_expect(t->tape.trace, room) ||
        !ms_vec_expect(&t->tape.storage_refs, STORAGES * repeats) ||
        !ms_vec_expect(&t->tape.nodes, NODES * layers) ||
        !ms_vec_expect(&t->tape.metas, 2 * NODES * layers))
        ms_tape_fail(&t->tape, MS_ERR_NOMEM);
}

static void train(trainer *t)
{
    expect_layers(t);
    if (!build(t))
        return;
    t->simulation->active_param_count = t->simulation->param_count - t->model.idle_param_count;
    ms_step_detail detail = t->detail;
    if (detail == MS_STEPS_NONE) {
        ms_figures_sum(&t->tape, t->simulation);
        return;
    }
    ms_checkpoint_choose(&t->tape, t->model.run->checkpoint_kind);
    ms_selective_watch(&t->tape, t->model.run->treatments.layers, t->model.config->num_layers);
    bool is_whole = detail == MS_STEPS_ALL || detail == MS_STEPS_EVALUATED;
    uint16_t last = is_whole ? STEADY_STEP : STEADY_STEP - 1;
    for (t->step = 1; t->step <= last && t->tape.status == MS_OK; t->step++) {
        bool records = detail == MS_STEPS_ALL || detail == MS_STEPS_TIMED;
        t->tape.recording = t->step == last && records;
        t->tape.keeps_operands = detail == MS_STEPS_ALL;
        run_step(t);
    }
    if (t->tape.status != MS_OK)
        return;
    ms_figures_sum(&t->tape, t->simulation);
    if (detail == MS_STEPS_EVALUATED)
        run_evaluation(t);
    ms_figures_sum_gradients(&t->tape, t->simulation);
    ms_figures_find_unreached(&t->tape, t->simulation);
    t->simulation->optimizer_state_bytes = ms_optimizer_state_bytes(&t->tape);
    t->simulation->host_weight_bytes += ms_parallel_on_host(&t->tape).weight_bytes;
    for (uint32_t i = 0; i < t->model.run->offload_tags.count; i++)
        t->simulation->offloaded[i] = ms_offload_bytes_of_tag(&t->tape, i);
    t->simulation->host_peak_bytes =
        ms_offload_host_peak_bytes(&t->tape) + ms_optimizer_host_bytes(&t->tape) +
        (t->model.run->training.accumulate > 1 ? ms_host_parameters_layer_bytes(&t->tape) : 0);
}

/* *differs: nothing was simulated, as passes that were to be copies of others are not. */
static ms_status simulate(trainer *t, const ms_model_config *model, const ms_run_config *run,
                          bool *differs)
{
    ms_simulation *simulation = t->simulation;
    ms_error *err = t->err;
    memset(simulation, 0, sizeof *simulation);
    ms_arena *arena = ms_arena_create(0);
    if (!arena || !ms_trace_init(&simulation->trace)) {
        ms_arena_free(arena);
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the trace");
    }
    ms_status status = MS_ERR_NOMEM;
    const ms_tape_options options = {.device = run->device,
                                     .torch_major = run->torch_major,
                                     .torch_minor = run->torch_minor,
                                     .has_autocast = run->autocast != MS_AUTOCAST_NONE,
                                     .routing = (uint8_t)run->routing};
    if (ms_tape_init(&t->tape, &simulation->trace, options) && ms_step_set_run(&t->tape, run)) {
        ms_model_init(&t->model, &t->tape, arena, model, run);
        simulation->attention = t->model.attention;
        train(t);
        status = t->tape.status == MS_OK && simulation->trace.symbols.ran_out ? MS_ERR_NOMEM
                                                                              : t->tape.status;
    }
    *differs = ms_pipeline_differs(t->pipeline);
    if (status != MS_OK && !*differs)
        status = ms_step_explain(&t->tape, status, err);
    ms_batches_free(&t->batches);
    ms_model_free(&t->model);
    ms_tape_free(&t->tape);
    ms_arena_free(arena);
    if (status == MS_OK)
        return MS_OK;
    ms_simulation_free(simulation);
    return status;
}

ms_status ms_step_simulate(const ms_model_config *model, const ms_run_config *run,
                           ms_step_detail detail, ms_simulation *simulation, ms_error *err)
{
    bool differs = false;
    trainer t = {.copies = true, .detail = detail, .simulation = simulation, .err = err};
    ms_status status = simulate(&t, model, run, &differs);
    if (!differs)
        return status;
    t = (trainer){.detail = detail, .simulation = simulation, .err = err};
    return simulate(&t, model, run, &differs);
}

void ms_simulation_free(ms_simulation *simulation)
{
    ms_trace_free(&simulation->trace);
}
