/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "advise/estimate.h"

#include "config/model/layer_kinds.h"
#include "config/run/budget.h"

enum { FEW_LAYERS = 2, MORE_LAYERS = 4, WORTH_LAYERS = 12 };

/* Shares of the budget beyond which the answer is clear: of what is reserved without a limit, which
 * an allocator at its limit may undercut, and of what is requested, which none does. */
static const double clearly_less = 0.93, clearly_more = 1.15, clearly_requested = 1.01;

static bool are_alike(const ms_variation *v)
{
    const ms_treatment *layers = v->run.treatments.layers;
    for (uint64_t i = 1; i < v->model.num_layers; i++)
        if (ms_layer_kind(&v->model, i) != ms_layer_kind(&v->model, 0) ||
            !ms_treatment_equal(&layers[i], &layers[0]))
            return false;
    return true;
}

bool ms_trial_may_be_estimated(const ms_variation *v)
{
    const ms_run_config *run = &v->run;
    return v->model.num_layers >= WORTH_LAYERS && run->budget_bytes > 0 && run->images.count == 0 &&
           run->parallel.layout.kind == MS_PARALLEL_NONE && run->training.eval_batch == 0 &&
           are_alike(v);
}

typedef struct figures {
    uint64_t wanted, least, kept;
} figures;

static ms_status measure(const ms_variation *whole, uint64_t layers, ms_arena *arena, figures *f,
                         ms_error *err)
{
    ms_variation v = *whole;
    ms_simulated simulated;
    v.arena = arena;
    ms_budget_lift(&v.run);
    if (!ms_vary_layers(&v, layers))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a suggestion");
    const ms_job job = ms_variation_job(&v);
    ms_status status = ms_simulate(&job, MS_SIMULATE_FIT, &simulated, err);
    if (status != MS_OK)
        return status;
    *f = (figures){ms_simulated_wanted_bytes(&simulated), ms_simulated_least_bytes(&simulated),
                   ms_kept_bytes(&v.run, &simulated.simulation)};
    ms_simulated_free(&simulated);
    return MS_OK;
}

/* On the line through both; where more layers need less, as few do. */
static uint64_t extend(uint64_t few, uint64_t more, uint64_t layers)
{
    uint64_t slope = more > few ? (more - few) / (MORE_LAYERS - FEW_LAYERS) : 0;
    return few + slope * (layers - FEW_LAYERS);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static double device_bytes(const ms_variation *v, uint64_t reserved_bytes)
{
    return (double)ms_budget_device_bytes(v->run.device, reserved_bytes).expected;
}

ms_status ms_trial_estimate(const ms_variation *v, ms_arena *arena, ms_trial *trial, ms_error *err)
{
    const uint64_t layers = v->model.num_layers;
    figures few, more;
    ms_status status = measure(v, FEW_LAYERS, arena, &few, err);
    if (status == MS_OK)
        status = measure(v, MORE_LAYERS, arena, &more, err);
    if (status != MS_OK)
        return status;
    trial->kept_bytes = extend(few.kept, more.kept, layers);
    trial->least_bytes = larger(extend(few.least, more.least, layers), trial->kept_bytes);
    trial->wanted_bytes = larger(extend(few.wanted, more.wanted, layers), trial->least_bytes);
    const double budget = (double)v->run.budget_bytes;
    const double need = device_bytes(v, trial->wanted_bytes);
    bool is_less = need < clearly_less * budget;
    bool is_more = need > clearly_more * budget ||
                   device_bytes(v, trial->least_bytes) > clearly_requested * budget;
    trial->is_estimate = is_less || is_more;
    trial->reason = is_less ? MS_FIT_WITHIN_BUDGET : MS_FIT_OVER_BUDGET;
    return MS_OK;
}
