/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/advise/estimate.h"

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "input/config/run/run_config.h"
#include "input/config/treatment/treatment.h"
#include "run/measure/lifetime.h"

/* Fewer layers than FEW do not have what many have; of those that are fetched, the third is the
 * first that finds two others on the device. */
enum { FEW = 2, FEW_FETCHED = 3, AT_LEAST_MORE = 2, WORTH_LAYERS = 12, MOST_PERIOD = 8 };

/* Shares of the budget beyond which the answer is clear: of what is reserved without a limit, which
 * an allocator at its limit may undercut as far as to what is requested, and of the latter. Of
 * several streams, whose blocks wait for each other, what is reserved says less. */
static const double clearly_less = 0.93, clearly_more = 1.15, clearly_requested = 1.01;
static const double nearly_requested = 0.9, surely_requested = 1.002, less_with_streams = 0.6;

/* ---- layers ---- */

static bool is_like(const ms_variation *v, uint64_t a, uint64_t b)
{
    const ms_treatment *layers = v->run.treatments.layers;
    return ms_layer_kind(v->model, a) == ms_layer_kind(v->model, b) &&
           ms_treatment_equal(&layers[a], &layers[b]);
}

/* The first layer from which on each is like the one `period` before. */
static uint64_t first_of_period(const ms_variation *v, uint64_t period)
{
    uint64_t first = v->model->num_layers - period;
    while (first > 0 && is_like(v, first - 1, first - 1 + period))
        first--;
    return first;
}

/* Layers are fetched, from the host or from other ranks, while others compute. */
static bool fetches(const ms_variation *v)
{
    bool sends = v->run.parameter_device == MS_PARAMETERS_ON_HOST ||
                 ms_layout_shards(&v->run.parallel.layout);
    for (uint64_t i = 0; i < v->model->num_layers && !sends; i++)
        sends = ms_treatment_sends(&v->run.treatments.layers[i]);
    return sends;
}

/* Two numbers of layers, and the whole, whose differences are multiples of the period. */
typedef struct layer_counts {
    uint64_t few, more, all;
} layer_counts;

static layer_counts counts_of(const ms_variation *v)
{
    const uint64_t all = v->model->num_layers;
    layer_counts best = {all, all, all};
    for (uint64_t period = 1; period <= MOST_PERIOD && period < all; period++) {
        const uint64_t least = first_of_period(v, period) + (fetches(v) ? FEW_FETCHED : FEW);
        if (least > all)
            continue;
        const uint64_t few = least + (all - least) % period;
        const uint64_t more = few + (period < AT_LEAST_MORE ? AT_LEAST_MORE : period);
        if (more < best.more)
            best = (layer_counts){few, more, all};
    }
    return best;
}

/* ---- runs ---- */

/* FSDP2 handles each layer alone. Other layouts have buckets of fixed sizes, parts of parameters or
 * stages, which do not grow with the layers. */
static bool is_linear(const ms_layout *layout)
{
    return layout->kind == MS_PARALLEL_NONE ||
           (layout->kind == MS_PARALLEL_FSDP2 && !ms_layout_has_stages(layout));
}

bool ms_trial_may_be_estimated(const ms_variation *v)
{
    const ms_run_config *run = &v->run;
    return v->model->num_layers >= WORTH_LAYERS && run->budget_bytes > 0 &&
           run->images.count == 0 && run->training.eval_batch == 0 &&
           is_linear(&run->parallel.layout) && counts_of(v).more <= v->model->num_layers / 2;
}

/* ---- figures ---- */

/* A run of some of the layers; what an allocator reserves for it is found out only where it is
 * asked for. */
typedef struct part {
    ms_variation v;
    ms_simulated simulated;
    uint64_t wanted, least, kept;
} part;

static ms_status simulate(const ms_variation *whole, uint64_t layers, ms_arena *arena, part *p,
                          ms_error *err)
{
    p->v = *whole;
    p->v.arena = arena;
    ms_budget_lift(&p->v.run);
    if (!ms_vary_layers(&p->v, layers))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a suggestion");
    const ms_job job = ms_variation_job(&p->v);
    ms_status status = ms_simulate(&job, MS_SIMULATE_EVENTS, &p->simulated, err);
    if (status != MS_OK)
        return status;
    const ms_kept kept = ms_kept_of(&p->v.run, &p->simulated.simulation);
    p->kept = ms_kept_bytes(&kept);
    p->least = ms_lifetimes_most(&p->simulated.simulation.trace);
    return MS_OK;
}

static ms_status measure(part *p, ms_error *err)
{
    ms_status status = ms_simulate_again(&p->simulated, &p->v.run, err);
    p->wanted = ms_simulated_wanted_bytes(&p->simulated);
    return status;
}

/* On the line through both; where more layers need less, as few do. */
static uint64_t extend(uint64_t few, uint64_t more, const layer_counts *layers)
{
    bool rises = more > few && layers->more > layers->few;
    uint64_t slope = rises ? (more - few) / (layers->more - layers->few) : 0;
    return few + slope * (layers->all - layers->few);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static double device_bytes(const ms_variation *v, uint64_t reserved_bytes)
{
    return (double)ms_budget_device_bytes(v->run.device, reserved_bytes).expected;
}

static double high_bytes(const ms_variation *v, uint64_t reserved_bytes)
{
    return (double)ms_budget_device_bytes(v->run.device, reserved_bytes).high;
}

static void judge_requested(const ms_variation *v, ms_trial *trial)
{
    const double requested = device_bytes(v, trial->least_bytes);
    trial->is_certain = requested > clearly_requested * (double)v->run.budget_bytes;
    trial->is_estimate = trial->is_certain;
    trial->reason = MS_FIT_OVER_BUDGET;
    trial->cannot_fit =
        high_bytes(v, trial->least_bytes) > surely_requested * (double)v->run.budget_bytes;
}

static void judge_reserved(const ms_variation *v, ms_trial *trial)
{
    const bool has_streams = v->run.parallel.layout.kind != MS_PARALLEL_NONE;
    const double budget = (double)v->run.budget_bytes;
    const double need = device_bytes(v, trial->wanted_bytes);
    const double requested = device_bytes(v, trial->least_bytes);
    bool is_less = need < (has_streams ? less_with_streams : clearly_less) * budget;
    bool is_more = need > clearly_more * budget && requested > nearly_requested * budget;
    trial->is_estimate = is_less || (is_more && !has_streams);
    trial->reason = is_less ? MS_FIT_WITHIN_BUDGET : MS_FIT_OVER_BUDGET;
}

static ms_status estimate(const ms_variation *v, const layer_counts *layers, part *few, part *more,
                          ms_trial *trial, ms_error *err)
{
    trial->kept_bytes = extend(few->kept, more->kept, layers);
    trial->least_bytes = larger(extend(few->least, more->least, layers), trial->kept_bytes);
    trial->wanted_bytes = trial->least_bytes;
    judge_requested(v, trial);
    if (trial->is_certain)
        return MS_OK;
    ms_status status = measure(few, err);
    if (status == MS_OK)
        status = measure(more, err);
    if (status != MS_OK)
        return status;
    trial->wanted_bytes = larger(extend(few->wanted, more->wanted, layers), trial->least_bytes);
    judge_reserved(v, trial);
    return MS_OK;
}

ms_status ms_trial_estimate(const ms_variation *v, ms_arena *arena, ms_trial *trial, ms_error *err)
{
    const layer_counts layers = counts_of(v);
    part few, more;
    ms_status status = simulate(v, layers.few, arena, &few, err);
    if (status != MS_OK)
        return status;
    status = simulate(v, layers.more, arena, &more, err);
    if (status == MS_OK) {
        status = estimate(v, &layers, &few, &more, trial, err);
        ms_simulated_free(&more.simulated);
    }
    ms_simulated_free(&few.simulated);
    return status;
}
