/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/advise/trial.h"

#include "base/threads.h"
#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "input/config/treatment/treatment.h"
#include "run/measure/usage.h"
#include "run/simulate/ranks.h"
#include "run/simulate/summary.h"

/* ---- estimate ---- */

/* Whether a run fits by far or misses by far, from the same run with a few layers: what a step
 * needs grows by the same for each layer, or for each period of layers of several kinds, as soon as
 * there are some. Only for a search, whose results are simulated in full. */

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

/* Whether the layers are alike or repeat, and are many enough for an estimate to be worth it. */
static bool trial_may_be_estimated(const ms_variation *v)
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

static ms_status estimate_simulate(const ms_variation *whole, uint64_t layers, ms_arena *arena,
                                   part *p, ms_error *err)
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

static ms_status estimate_measure(part *p, ms_error *err)
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
    ms_status status = estimate_measure(few, err);
    if (status == MS_OK)
        status = estimate_measure(more, err);
    if (status != MS_OK)
        return status;
    trial->wanted_bytes = larger(extend(few->wanted, more->wanted, layers), trial->least_bytes);
    judge_reserved(v, trial);
    return MS_OK;
}

/* Fills the trial's figures, and is_estimate where they say clearly whether it fits. */
static ms_status trial_estimate(const ms_variation *v, ms_arena *arena, ms_trial *trial,
                                ms_error *err)
{
    const layer_counts layers = counts_of(v);
    part few, more;
    ms_status status = estimate_simulate(v, layers.few, arena, &few, err);
    if (status != MS_OK)
        return status;
    status = estimate_simulate(v, layers.more, arena, &more, err);
    if (status == MS_OK) {
        status = estimate(v, &layers, &few, &more, trial, err);
        ms_simulated_free(&more.simulated);
    }
    ms_simulated_free(&few.simulated);
    return status;
}

/* ---- effect ---- */

/* Of a simulation with MS_SIMULATE_TIME, or with less detail, whose time is unknown. */
static ms_effect effect_of(const ms_simulated *s)
{
    return (ms_effect){.is_beyond = ms_simulated_is_beyond(s),
                       .device_bytes = s->judgement.device_bytes.expected,
                       .peak_bytes = s->usage.peak_bytes,
                       .host_bytes = s->simulation.host_peak_bytes,
                       .reason = s->judgement.reason,
                       .told = ms_simulated_reason(s),
                       .step_ms = ms_simulated_step_ms(s)};
}

ms_status ms_effect_simulate(const ms_job *job, bool is_timed, ms_effect *effect, ms_error *err)
{
    ms_simulated simulated;
    ms_status status =
        ms_simulate(job, is_timed ? MS_SIMULATE_TIME : MS_SIMULATE_USAGE, &simulated, err);
    if (status != MS_OK)
        return status;
    *effect = effect_of(&simulated);
    ms_simulated_free(&simulated);
    return MS_OK;
}

/* An evaluation has events of its own; of several ranks another may need most. */
bool ms_unchanged_has(const ms_unchanged *unchanged, const ms_run_config *run)
{
    return unchanged->simulated && unchanged->simulated->is_whole &&
           run->training.eval_batch == 0 && run->parallel.layout.kind == MS_PARALLEL_NONE;
}

static const ms_variant *measured(const ms_unchanged *unchanged)
{
    const ms_variant *v =
        unchanged->variants ? ms_variants_find(unchanged->variants, &ms_allocator_change) : NULL;
    return v && v->status == MS_OK ? v : NULL;
}

/* Of the same events, with other retries. */
static double with_retries(double step_ms, const ms_step_time *time, double retry_ms)
{
    return step_ms > 0 ? step_ms - time->retry_ms + retry_ms : 0;
}

ms_status ms_unchanged_play(const ms_unchanged *unchanged, const ms_run_config *run,
                            ms_effect *effect, ms_error *err)
{
    *effect = effect_of(unchanged->simulated);
    const ms_step_time *time = &unchanged->simulated->profile.time;
    const ms_variant *v = measured(unchanged);
    if (v) {
        effect->device_bytes = v->device_bytes;
        effect->peak_bytes = v->peak_bytes;
        effect->reason = v->reason;
        effect->told = ms_reason_with_keys(v->reason, &run->keys);
        effect->step_ms = with_retries(effect->step_ms, time, v->retry_ms);
        return MS_OK;
    }
    ms_simulated lent = ms_simulated_lend(unchanged->simulated);
    ms_status status = ms_simulate_again(&lent, run, err);
    if (status == MS_OK) {
        effect->device_bytes = lent.judgement.device_bytes.expected;
        effect->peak_bytes = lent.usage.peak_bytes;
        effect->reason = lent.judgement.reason;
        effect->told = ms_simulated_reason(&lent);
        effect->step_ms = with_retries(effect->step_ms, time, ms_usage_retry_ms(&lent.usage));
    }
    ms_simulated_free(&lent);
    return status;
}

/* ---- larger device ---- */

ms_status ms_other_devices_load(ms_arena *arena, const ms_run_config *run, ms_other_devices *others,
                                ms_error *err)
{
    *others = (ms_other_devices){0};
    if (run->device->is_cpu || run->has_budget || run->calibration)
        return MS_OK;
    *others = (ms_other_devices){run->devices, run->device_count};
    return run->devices ? MS_OK : ms_devices_load(arena, &others->items, &others->count, err);
}

const ms_device *ms_larger_device(const ms_other_devices *others, const ms_run_config *run,
                                  uint64_t needed_bytes)
{
    const ms_device *next = NULL;
    const uint64_t present = ms_device_usable_bytes(run->device);
    for (uint32_t i = 0; i < others->count; i++) {
        const ms_device *d = &others->items[i];
        const uint64_t usable = ms_device_usable_bytes(d);
        bool is_alike = !d->compute_capability == !run->device->compute_capability;
        if (!d->is_cpu && is_alike && usable > present && usable >= needed_bytes &&
            (!next || usable < ms_device_usable_bytes(next)))
            next = d;
    }
    return next;
}

/* ---- trial ---- */

void ms_trials_free(ms_trials *trials)
{
    ms_vec_free(&trials->known);
}

bool ms_trials_count(const ms_trials *trials, const ms_trial *trial)
{
    if (trial->is_open && !trials->asks_fit)
        return false;
    return !trials->is_exact || !trial->is_provisional || (trial->is_certain && !trials->is_whole);
}

const ms_trial *ms_trials_find(const ms_trials *trials, ms_candidate_set set)
{
    for (uint32_t i = 0; i < trials->known.count; i++)
        if (trials->known.items[i].set == set && ms_trials_count(trials, &trials->known.items[i]))
            return &trials->known.items[i];
    return NULL;
}

bool ms_trials_is_open(const ms_trials *trials, ms_candidate_set set)
{
    bool is_open = false;
    for (uint32_t i = 0; i < trials->known.count; i++)
        is_open = is_open || (trials->known.items[i].set == set && trials->known.items[i].is_open);
    return is_open;
}

/* What a run cannot be, is not offered; anything else is a failure. */
static bool is_refusal(ms_status status)
{
    return status == MS_ERR_CONFIG || status == MS_ERR_USAGE || status == MS_ERR_LIMIT ||
           status == MS_ERR_OVERFLOW;
}

/* Alone in its thread. */
typedef struct task {
    const ms_job *job;
    bool is_exact, asks_fit; /* as of the trials */
    ms_trial trial;
    ms_status status;
    ms_error err;
} task;

/* What comes near the budget is likely to be asked for in full. */
static ms_status simulate(task *t, const ms_variation *v, bool is_near)
{
    const ms_job job = ms_variation_job(v);
    ms_simulated simulated;
    ms_status status =
        ms_simulate(&job, is_near ? MS_SIMULATE_TIME : MS_SIMULATE_FIT, &simulated, &t->err);
    if (status != MS_OK)
        return status;
    t->trial.reason = simulated.judgement.reason;
    t->trial.wanted_bytes = ms_simulated_wanted_bytes(&simulated);
    t->trial.least_bytes = ms_simulated_least_bytes(&simulated);
    const ms_kept kept = ms_kept_of(&v->run, &simulated.simulation);
    t->trial.kept_bytes = ms_kept_bytes(&kept);
    t->trial.has_effect = is_near;
    t->trial.effect = effect_of(&simulated);
    ms_simulated_free(&simulated);
    return MS_OK;
}

static bool has_ranks(const ms_run_config *run)
{
    return run->parallel.layout.kind != MS_PARALLEL_NONE;
}

static void leave_open(ms_trial *trial)
{
    trial->is_open = trial->is_estimate = true;
    trial->reason = MS_FIT_UPPER_END;
}

/* In the first pass of several ranks the one that needs most of the unchanged run is taken. */
static ms_status measure(task *t, ms_arena *arena)
{
    ms_variation v;
    const char *option;
    ms_status status =
        ms_combination_apply(t->job, t->trial.set, NULL, arena, &v, &option, &t->err);
    if (status != MS_OK)
        return status;
    if (t->is_exact)
        status = ms_ranks_settle(arena, v.model, &v.run, &t->err);
    bool is_estimated = !t->is_exact && trial_may_be_estimated(&v);
    if (status == MS_OK && is_estimated)
        status = trial_estimate(&v, arena, &t->trial, &t->err);
    if (status == MS_OK && t->asks_fit && t->trial.cannot_fit && !t->trial.is_estimate)
        leave_open(&t->trial);
    t->trial.is_provisional = t->trial.is_estimate || (!t->is_exact && has_ranks(&v.run));
    if (status != MS_OK || t->trial.is_estimate)
        return status;
    return simulate(t, &v, is_estimated && !has_ranks(&v.run));
}

static void run(task *t)
{
    ms_arena *arena = ms_arena_create(0);
    t->status = MS_ERR_NOMEM;
    if (arena)
        t->status = measure(t, arena);
    ms_arena_free(arena);
    t->trial.is_refused = is_refusal(t->status);
    if (t->trial.is_refused)
        t->status = MS_OK;
}

static void work(void *context, uint32_t index)
{
    run(&((task *)context)[index]);
}

static ms_status fail(const ms_trials *trials, const task *t)
{
    return ms_fail(trials->err, t->status, "%s",
                   t->err.text[0] ? t->err.text : "no memory for a suggestion");
}

static ms_status keep(ms_trials *trials, const task *t)
{
    if (t->status != MS_OK)
        return fail(trials, t);
    return ms_vec_push(&trials->known, t->trial)
               ? MS_OK
               : ms_fail(trials->err, MS_ERR_NOMEM, "no memory for a suggestion");
}

enum { MOST_AT_ONCE = 8 };

ms_status ms_trials_run(ms_trials *trials, const ms_candidate_set *sets, uint32_t count)
{
    task tasks[MOST_AT_ONCE];
    ms_status status = MS_OK;
    for (uint32_t first = 0; first < count && status == MS_OK;) {
        uint32_t wanted = 0;
        for (; first < count && wanted < MOST_AT_ONCE; first++)
            if (!ms_trials_find(trials, sets[first]))
                tasks[wanted++] = (task){.job = trials->job,
                                         .is_exact = trials->is_exact,
                                         .asks_fit = trials->asks_fit,
                                         .trial = {.set = sets[first]}};
        ms_threads_run(wanted, work, tasks);
        for (uint32_t i = 0; i < wanted && status == MS_OK; i++)
            status = keep(trials, &tasks[i]);
    }
    return status;
}

ms_status ms_trials_one(ms_trials *trials, ms_candidate_set set, ms_trial *trial)
{
    ms_status status = ms_trials_run(trials, &set, 1);
    if (status == MS_OK)
        *trial = *ms_trials_find(trials, set);
    return status;
}

static uint32_t list_near(const ms_trials *trials, const ms_trial *least, ms_candidate_set *sets)
{
    enum { NEAR = 10 }; /* a tenth more */
    const uint64_t limit = least->least_bytes + least->least_bytes / NEAR;
    uint32_t count = 0;
    for (uint32_t i = 0; i < trials->known.count && count < MOST_AT_ONCE; i++) {
        const ms_trial *t = &trials->known.items[i];
        if (t->set && t->is_certain && t->least_bytes <= limit &&
            ms_combination_cost(t->set) == ms_combination_cost(least->set))
            sets[count++] = t->set;
    }
    return count;
}

ms_status ms_trials_refine(ms_trials *trials, ms_trial *least)
{
    ms_candidate_set sets[MOST_AT_ONCE] = {0};
    const uint32_t count = list_near(trials, least, sets);
    trials->is_whole = true;
    ms_status status = ms_trials_run(trials, sets, count);
    for (uint32_t i = 0; i < count && status == MS_OK; i++) {
        const ms_trial *t = ms_trials_find(trials, sets[i]);
        if (!t->is_refused && (least->is_certain || t->wanted_bytes < least->wanted_bytes))
            *least = *t;
    }
    trials->is_whole = false;
    return status;
}

ms_status ms_trials_resolve(const ms_trials *trials, ms_candidate_set set, bool *is_refused)
{
    ms_error err = {0};
    ms_variation v;
    const char *option;
    ms_arena *arena = ms_arena_create(0);
    ms_status status = MS_ERR_NOMEM;
    if (arena)
        status = ms_combination_apply(trials->job, set, NULL, arena, &v, &option, &err);
    ms_arena_free(arena);
    *is_refused = is_refusal(status);
    return status == MS_OK || *is_refused
               ? MS_OK
               : ms_fail(trials->err, status, "no memory for a suggestion");
}

ms_status ms_trials_candidates(const ms_trials *trials, ms_candidate_set among,
                               ms_candidate_set *applicable)
{
    ms_status status = MS_OK;
    *applicable = 0;
    for (uint32_t i = 0; ms_candidate_at(i) && status == MS_OK; i++) {
        bool is_refused = true;
        if (!(among & ms_bit(i)) || !ms_candidate_at(i)->applies(trials->job))
            continue;
        status = ms_trials_resolve(trials, ms_bit(i), &is_refused);
        *applicable |= is_refused ? 0 : ms_bit(i);
    }
    return status;
}
