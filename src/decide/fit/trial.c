/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/fit/trial.h"

#include "base/size.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/resolve_padding.h"
#include "input/config/run/run_config.h"
#include "decide/plan/costs/cost_model.h"
#include "decide/plan/costs/measure.h"
#include "decide/plan/search/search.h"
#include "decide/plan/search/simulate.h"
#include "run/simulate/ranks.h"

/* count * to / from, rounded up; UINT64_MAX: too many. */
static uint64_t scaled(uint64_t count, uint64_t to, uint64_t from)
{
    const ms_size product = ms_size_mul(ms_size_of(count), to);
    return product.overflow ? UINT64_MAX : (product.bytes + from - 1) / from;
}

/* As many of the tokens that are tried have labels as of those that were given. */
static void scale_labels(ms_run_config *run, uint64_t to, uint64_t from)
{
    const uint64_t labels = scaled(run->training.labels, to, from);
    const uint64_t most = ms_run_most_labels(run);
    run->training.labels = labels < most ? labels : most;
}

/* Longer rows have more documents, unless they are the sequences that a trainer joins. */
static ms_status apply_seq(ms_variation *v, uint64_t tokens, ms_error *err)
{
    ms_run_config *run = &v->run;
    const ms_parallel *parallel = &run->parallel;
    if (parallel->splits_sequence || parallel->layout.context > 1)
        return ms_fail(err, MS_ERR_USAGE,
                       "what: seq is not searched with %s, which splits it evenly: give seq",
                       parallel->splits_sequence ? "sequence-parallel" : "context parallelism");
    const uint64_t given = run->seq_tokens;
    run->seq_tokens = run->joined ? run->joined * tokens : tokens;
    if (run->documents && !run->has_fewest_documents) {
        const uint64_t documents = scaled(run->documents, run->seq_tokens, given);
        run->documents = documents < run->seq_tokens ? documents : run->seq_tokens - 1;
    }
    scale_labels(run, run->seq_tokens, given);
    return MS_OK;
}

static uint64_t documents_of(const ms_run_config *run, uint64_t sequences)
{
    enum { LEAST = 2 };
    const uint64_t documents =
        run->has_fewest_documents ? sequences : scaled(run->documents, sequences, run->joined);
    return documents > LEAST ? documents : LEAST;
}

/* Sequences that a trainer joins make a longer one, of more documents. */
static ms_status apply_batch(ms_variation *v, uint64_t sequences, ms_error *err)
{
    ms_run_config *run = &v->run;
    const uint64_t given = run->joined ? run->joined : run->batch;
    if (run->documents && !run->joined)
        return ms_fail(err, MS_ERR_USAGE,
                       "what: batch is not searched with documents, which form one row: give "
                       "batch, or search seq");
    if (run->joined) {
        run->documents = run->documents ? documents_of(run, sequences) : 0;
        run->seq_tokens = run->seq_tokens / run->joined * sequences;
        run->joined = sequences;
    } else {
        run->batch = sequences;
    }
    scale_labels(run, sequences, given);
    if (sequences > 1 && run->padding.is_alone && !ms_padding_refusal(v->model, run)) {
        run->padding.given = MS_PADDING_UNKNOWN;
        run->padding.simulated = MS_PADDING_YES;
    }
    return MS_OK;
}

static ms_status apply_layers(ms_variation *v, uint64_t layers, ms_error *err)
{
    if (ms_layout_has_stages(&v->run.parallel.layout))
        return ms_fail(err, MS_ERR_USAGE,
                       "what: layers are not searched with pp=N, whose stages need one each: "
                       "change the model's config");
    return ms_vary_layers(v, layers) ? MS_OK
                                     : ms_fail(err, MS_ERR_NOMEM, "out of memory for a run");
}

/* The variation, of whichever rank. */
static ms_status vary(const ms_fit_question *q, uint64_t value, ms_arena *arena, ms_variation *v,
                      ms_error *err)
{
    bool is_shared = q->what->kind == MS_FIT_GPUS && value > 1;
    *v = ms_vary_run(q->model, is_shared ? q->shared : q->run, arena);
    ms_layout *layout = &v->run.parallel.layout;
    ms_status status = MS_OK;
    bool done = ms_vary_treatments(v) != NULL;
    switch (q->what->kind) {
    case MS_FIT_BATCH:
        status = apply_batch(v, value, err);
        break;
    case MS_FIT_SEQ:
        status = apply_seq(v, value, err);
        break;
    case MS_FIT_RANK:
        done = done && ms_vary_rank(v, value);
        break;
    case MS_FIT_LAYERS:
        status = apply_layers(v, value, err);
        break;
    case MS_FIT_GPUS:
        layout->shards = value / (ms_layout_world(layout) / layout->shards);
        v->run.parallel.choice = (ms_rank_choice){.kind = MS_RANK_WORST};
        break;
    }
    if (status == MS_OK && !done)
        status = ms_fail(err, MS_ERR_NOMEM, "out of memory for a run");
    return status == MS_OK ? ms_shares_resolve(arena, v->model, &v->run, err) : status;
}

ms_status ms_fit_apply(const ms_fit_question *question, uint64_t value, ms_arena *arena,
                       ms_variation *v, ms_error *err)
{
    ms_status status = vary(question, value, arena, v, err);
    return status == MS_OK ? ms_ranks_settle(arena, v->model, &v->run, err) : status;
}

static ms_status simulate(ms_fit_trials *t, const ms_variation *v, ms_fit_reason *reason)
{
    ms_simulated simulated;
    const ms_job job = ms_variation_job(v);
    ms_status status = ms_simulate(&job, MS_SIMULATE_FIT, &simulated, t->err);
    t->answer->simulations++;
    if (status != MS_OK)
        return status;
    *reason = simulated.judgement.reason;
    if (!ms_reason_fits(*reason)) {
        t->least_bytes = ms_simulated_least_bytes(&simulated);
        t->kept_bytes = simulated.simulation.weight_bytes;
        if (!v->run.parallel.offloads)
            t->kept_bytes += simulated.simulation.optimizer_state_bytes;
    }
    ms_simulated_free(&simulated);
    return MS_OK;
}

/* Of several ranks the first is tried first: where that does not fit, no other needs to be. */
static ms_status find_reason(ms_fit_trials *t, ms_arena *arena, uint64_t value,
                             ms_fit_reason *reason)
{
    ms_variation v;
    bool is_gpus = t->question->what->kind == MS_FIT_GPUS;
    ms_status status = vary(t->question, value, arena, &v, t->err);
    if (status == MS_OK && is_gpus)
        status = simulate(t, &v, reason);
    if (status != MS_OK || (is_gpus && (!ms_reason_fits(*reason) || value == 1)))
        return status;
    status = ms_ranks_settle(arena, v.model, &v.run, t->err);
    if (status != MS_OK || (is_gpus && v.run.parallel.rank == 0))
        return status;
    return simulate(t, &v, reason);
}

ms_status ms_fit_judge(ms_fit_trials *t, uint64_t value, bool *fits, bool *is_safe)
{
    ms_fit_reason reason = MS_FIT_NO_ROOM;
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return ms_fail(t->err, MS_ERR_NOMEM, "out of memory for a run");
    ms_status status = find_reason(t, arena, value, &reason);
    ms_arena_free(arena);
    *fits = status == MS_OK && ms_reason_fits(reason);
    *is_safe = status == MS_OK && ms_reason_verdict(reason) == MS_VERDICT_FITS;
    if (!*fits && value < t->refused)
        t->refused = value;
    if (!*fits && value > t->most_refused)
        t->most_refused = value;
    return status;
}

bool ms_fit_could_hold(const ms_fit_trials *t, uint64_t bytes)
{
    const ms_run_config *run = t->question->run;
    return ms_budget_device_bytes(run->device, bytes).expected <= run->budget_bytes;
}

ms_status ms_fit_look(ms_fit_trials *t, ms_arena *arena, uint64_t value, ms_step_figures *figures)
{
    ms_variation v;
    ms_status status = ms_fit_apply(t->question, value, arena, &v, t->err);
    if (status != MS_OK)
        return status;
    t->answer->simulations++;
    return ms_step_plan_simulate(arena, v.model, &v.run, &v.run.treatments, figures, t->err);
}

uint32_t ms_fit_most_in_turn(const ms_fit_trials *t)
{
    enum { LAYERS_IN_TURN = 2048, LEAST = 8, MOST = 64 };
    uint64_t count = LAYERS_IN_TURN / t->question->model->num_layers;
    return count < LEAST ? LEAST : count > MOST ? MOST : (uint32_t)count;
}
