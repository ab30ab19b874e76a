/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/inference/generator.h"

#include <string.h>

#include "input/config/model/model_config.h"
#include "torch/autograd/engine.h"
#include "input/config/run/attention.h"
#include "model/blocks/host/host_modules.h"
#include "model/families.h"
#include "torch/ops/ops.h"
#include "run/step/figures.h"
#include "run/step/run.h"

void ms_generator_mark(ms_generator *g, bool begin, ms_phase phase, uint32_t pass)
{
    ms_step_mark(&g->tape, begin, phase, g->step, pass);
}

static ms_status build(ms_generator *g)
{
    ms_tape *tape = &g->tape;
    tape->repeats = 1;
    ms_generator_mark(g, true, MS_PHASE_BUILD, 0);
    ms_step_build_model(&g->model, false, g->err);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    ms_generator_mark(g, false, MS_PHASE_BUILD, 0);
    tape->grad_enabled = false;
    tape->is_evaluating = true;
    tape->pass = MS_PASS_FORWARD;
    ms_figures_count_parameters(tape, g->simulation);
    g->simulation->host_weight_bytes = ms_host_modules_bytes(&g->model);
    g->simulation->active_param_count = g->simulation->param_count - g->model.idle_param_count;
    return tape->status;
}

/* What is of training alone is left out. */
static bool keep_inference(ms_run_config *run, ms_arena *arena, uint64_t layers)
{
    run->treatments.layers = ms_arena_array(arena, ms_treatment, layers);
    run->treatments.loss_chunks = 0;
    run->parameter_device = MS_PARAMETERS_ON_DEVICE;
    run->upcast = false; /* prepare_model_for_kbit_training() */
    return run->treatments.layers != NULL;
}

ms_status ms_generator_begin(ms_generator *g, const ms_model_config *model,
                             const ms_run_config *run, ms_simulation *simulation, ms_error *err)
{
    memset(simulation, 0, sizeof *simulation);
    *g = (ms_generator){
        .run = *run, .simulation = simulation, .err = err, .arena = ms_arena_create(0)};
    const ms_tape_options options = {.device = run->device,
                                     .torch_major = run->torch_major,
                                     .torch_minor = run->torch_minor,
                                     .has_autocast = run->autocast != MS_AUTOCAST_NONE,
                                     .routing = (uint8_t)run->routing};
    if (!g->arena || !ms_trace_init(&simulation->trace) ||
        !keep_inference(&g->run, g->arena, model->num_layers) ||
        !ms_tape_init(&g->tape, &simulation->trace, options) || !ms_step_set_run(&g->tape, &g->run))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the trace");
    ms_model_init(&g->model, &g->tape, g->arena, model, &g->run);
    simulation->attention = g->model.attention;
    return build(g);
}

void ms_generator_encode(ms_generator *g, ms_tensor input)
{
    ms_tape *tape = &g->tape;
    if (ms_idle(tape))
        return;
    ms_module_begin(tape, MS_NONE);
    g->encoded = g->model.encode(&g->model, input);
    ms_module_end(tape, MS_NONE);
}

ms_tensor ms_generator_pass(ms_generator *g, ms_tensor ids)
{
    ms_tape *tape = &g->tape;
    ms_model *model = &g->model;
    if (ms_idle(tape))
        return 0;
    const ms_model_inputs in = {
        .ids = ids, .encoded = g->encoded, .cache = g->cache, .kept_logits = g->cache ? 1 : 0};
    ms_model_outputs out = {0};
    tape->has_autocast = model->run->autocast != MS_AUTOCAST_NONE;
    tape->autocast_dtype = model->run->autocast == MS_AUTOCAST_F16 ? MS_DTYPE_F16 : MS_DTYPE_BF16;
    ms_module_begin(tape, MS_NONE);
    ms_model_forward(model, &in, &out);
    ms_module_end(tape, MS_NONE);
    if (tape->has_autocast)
        ms_autocast_clear(tape);
    tape->has_autocast = false;
    const ms_tensor left[] = {out.hidden, out.loss, out.auxiliary};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        if (left[i])
            ms_release(tape, left[i]);
    return out.logits;
}

ms_status ms_generator_end(ms_generator *g, ms_status status)
{
    if (status == MS_OK)
        status = g->tape.status;
    if (status == MS_OK && g->simulation->trace.symbols.ran_out)
        status = MS_ERR_NOMEM;
    if (status != MS_OK && g->err->status == MS_OK)
        status = ms_step_explain(&g->tape, status, g->err);
    ms_model_free(&g->model);
    ms_tape_free(&g->tape);
    ms_arena_free(g->arena);
    if (status != MS_OK)
        ms_simulation_free(g->simulation);
    return status;
}
