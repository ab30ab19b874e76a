/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/search/alternatives.h"

#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "decide/advise/advise.h"
#include "decide/plan/choose/choose.h"
#include "decide/plan/search/search_stages.h"
#include "decide/plan/search/simulate.h"
#include "decide/plan/search/step_plan.h"
#include "decide/plan/trainers/targets.h"
#include "input/config/model/model_config.h"
#include "input/config/run/run_config.h"
#include "input/config/run/run_fields.h"
#include "input/config/treatment/row.h"
#include "run/simulate/change.h"

/* ---- rules ---- */

static const double target_utilisation = 0.85, exit_below = 0.7, tile_saving = 0.6,
                    offload_headroom = 1.2, flops_per_byte = 1e6;

enum { TILE_BYTES = 16 << 20 };

typedef struct mode_row {
    double threshold; /* of the target: work goes on until the estimate is below */
    uint64_t least_layer_bytes, least_activation_bytes;
} mode_row;

static const mode_row modes[] = {
    [MS_RULES_CONSERVATIVE] = {0.90, 4 << 20, 1 << 20},
    [MS_RULES_BALANCED] = {0.75, 1 << 20, 512 << 10},
    [MS_RULES_AGGRESSIVE] = {0.50, 256 << 10, 64 << 10},
};

typedef enum technique { CHECKPOINT, OFFLOAD, TILE, TECHNIQUE_COUNT } technique;

static const double overheads[TECHNIQUE_COUNT] = {
    [CHECKPOINT] = 0.25, [OFFLOAD] = 0.05, [TILE] = 0.10};

typedef struct layer_row {
    uint32_t layer;
    uint64_t bytes, activation_bytes;
    double flops;
} layer_row;

typedef struct engine {
    const ms_step_task *task;
    const ms_cost_model *costs;
    const mode_row *mode;
    uint64_t host_left_bytes;
    double all_flops;
    ms_rules_answer *answer;
} engine;

static int largest_first(const void *a, const void *b)
{
    const layer_row *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->layer < y->layer ? -1 : x->layer > y->layer;
}

static layer_row *list_layers(ms_arena *arena, engine *e)
{
    layer_row *rows = ms_arena_array(arena, layer_row, e->costs->layer_count);
    for (uint32_t i = 0; rows && i < e->costs->layer_count; i++) {
        const ms_layer_cost *cost = &e->costs->options[0].layers[i];
        int64_t saved = cost->bytes[0].forward_end, left = saved + cost->bytes[0].backward_end;
        rows[i] = (layer_row){.layer = i,
                              .bytes = left > 0 ? (uint64_t)left : 0, /* gradients: its weights */
                              .activation_bytes = saved > 0 ? (uint64_t)saved : 0,
                              .flops = cost->forward_flops};
        e->all_flops += cost->forward_flops;
    }
    if (rows)
        qsort(rows, e->costs->layer_count, sizeof *rows, largest_first);
    return rows;
}

static bool may(const engine *e, technique t)
{
    static const uint32_t bits[TECHNIQUE_COUNT] = {
        [CHECKPOINT] = MS_MAY_CHECKPOINT, [OFFLOAD] = MS_MAY_OFFLOAD, [TILE] = MS_MAY_TILE};
    return (e->task->techniques & bits[t]) != 0;
}

/* The option of the cost model that a technique stands for; the number of options when it has none.
 */
static uint32_t option_of(const ms_cost_model *costs, technique t)
{
    uint32_t i = 0;
    for (; i < costs->option_count; i++) {
        const ms_treatment *o = &costs->options[i].treatment;
        bool plain = !ms_treatment_has_parts(o, true) && o->input == MS_INPUT_ON_DEVICE;
        if ((t == CHECKPOINT && o->kind == MS_TREAT_CHECKPOINT && plain) ||
            (t == OFFLOAD && o->kind == MS_TREAT_OFFLOAD && plain && o->share >= 1) ||
            (t == TILE && o->kind == MS_TREAT_KEEP && ms_treatment_tiles_mlp_alone(o)))
            break;
    }
    return i;
}

/* The first rule that applies; TECHNIQUE_COUNT: none. */
static technique decide(const engine *e, const layer_row *row)
{
    double density = row->activation_bytes ? row->flops / (double)row->activation_bytes : 0;
    if (may(e, CHECKPOINT) && density > flops_per_byte)
        return CHECKPOINT;
    if (may(e, OFFLOAD) &&
        offload_headroom * (double)row->activation_bytes <= (double)e->host_left_bytes)
        return OFFLOAD;
    if (may(e, TILE) && row->activation_bytes > TILE_BYTES)
        return TILE;
    return may(e, CHECKPOINT) ? CHECKPOINT : TECHNIQUE_COUNT;
}

static void apply(engine *e, const layer_row *row)
{
    technique t = decide(e, row);
    uint32_t option = t == TECHNIQUE_COUNT ? e->costs->option_count : option_of(e->costs, t);
    if (option == e->costs->option_count)
        return;
    uint64_t saved = row->activation_bytes;
    if (t == TILE)
        saved = (uint64_t)((double)saved * tile_saving);
    if (t == OFFLOAD)
        e->host_left_bytes -= saved;
    e->answer->assignment.options[row->layer] = option;
    e->answer->estimate_bytes -= saved < e->answer->estimate_bytes ? saved : 0;
    if (e->all_flops > 0)
        e->answer->estimate_overhead += overheads[t] * row->flops / e->all_flops;
}

ms_status ms_rules_choose(ms_arena *arena, const ms_step_task *task, const ms_cost_model *costs,
                          uint64_t need_bytes, uint64_t budget_bytes, ms_rules_answer *answer,
                          ms_error *err)
{
    engine e = {.task = task,
                .costs = costs,
                .mode = &modes[task->rules_mode],
                .host_left_bytes = task->max_host_bytes,
                .answer = answer};
    *answer = (ms_rules_answer){.estimate_bytes = need_bytes};
    answer->assignment.options = ms_arena_array(arena, uint32_t, costs->layer_count);
    layer_row *rows = list_layers(arena, &e);
    if (!answer->assignment.options || !rows)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the rules");
    double target = target_utilisation * (double)budget_bytes;
    if ((double)need_bytes < exit_below * target)
        return MS_OK;
    for (uint32_t i = 0; i < costs->layer_count; i++) {
        if ((double)answer->estimate_bytes <= e.mode->threshold * target)
            break;
        if (rows[i].bytes >= e.mode->least_layer_bytes &&
            rows[i].activation_bytes >= e.mode->least_activation_bytes)
            apply(&e, &rows[i]);
    }
    return MS_OK;
}

/* ---- alternatives ---- */

/* A search of its own, alone in its thread. */
typedef struct attempt {
    ms_arena *arena;
    const char *name, *option; /* static, or in the arena */
    ms_step_task task;
    ms_variation variation;
    ms_step_plan plan;
    ms_search search;
    ms_planner planner;
    bool measures; /* another run: its options are measured anew */
    bool is_whole; /* not one of many: searched as the plan is */
    ms_status status;
    ms_error err;
} attempt;

static bool set_attempt(const ms_search *base, const char *name, attempt *a)
{
    *a = (attempt){.arena = ms_arena_create(0),
                   .name = name,
                   .option = "",
                   .task = *base->task,
                   .planner = MS_PLANNER_MILP};
    a->variation = ms_vary_run(base->task->model, base->task->run, a->arena);
    return a->arena != NULL;
}

/* Attempts move when their array grows, so what points into them is set at last. */
static void link_attempt(const ms_search *base, attempt *a)
{
    a->task.model = a->variation.model;
    a->task.run = &a->variation.run;
    ms_search_fork(base, &a->task, a->arena, &a->plan, &a->err, &a->search);
    a->search.is_aside = true;
}

static ms_status run_rules(attempt *a)
{
    ms_rules_answer answer;
    ms_status status =
        ms_rules_choose(a->arena, &a->task, &a->search.costs, a->plan.keep_all.device_bytes,
                        a->plan.budget_bytes, &answer, &a->err);
    a->search.best = answer.assignment;
    a->search.has_best = status == MS_OK;
    return status;
}

static void run_attempt(void *context, uint32_t index)
{
    static const ms_choose_fn ways[] = {[MS_PLANNER_MILP] = ms_choose_milp,
                                        [MS_PLANNER_GREEDY] = ms_choose_greedy,
                                        [MS_PLANNER_UNIFORM] = ms_choose_uniform};
    attempt *a = &((attempt *)context)[index];
    ms_chosen chosen;
    if (ms_stop_asked(a->task.stop))
        return;
    if (a->measures)
        a->status = ms_search_begin(&a->search, ms_target_find("free"));
    if (a->status == MS_OK)
        a->status = a->is_whole                      ? ms_search_whole(&a->search, &chosen)
                    : a->planner == MS_PLANNER_RULES ? run_rules(a)
                    : a->planner != MS_PLANNER_GREEDY
                        ? ms_search_run(&a->search, ways[a->planner], &chosen)
                        : ms_search_run_as_chosen(&a->search, ways[a->planner], &chosen);
    if (a->status == MS_OK && a->search.has_best)
        a->status = ms_search_finish(&a->search);
}

/* Figures outlive the attempt's arena. */
static ms_status keep_figures(const ms_search *base, const attempt *a, ms_alternative *kept)
{
    *kept = (ms_alternative){.name = a->name,
                             .option = ms_arena_strdup(base->arena, a->option),
                             .has_figures = a->search.has_best};
    if (!kept->option)
        return ms_fail(base->err, MS_ERR_NOMEM, "out of memory for the comparison");
    if (!kept->has_figures)
        return MS_OK;
    return ms_step_figures_copy(base->arena, base->task->model->num_layers, &a->plan.plan,
                                &kept->figures, base->err);
}

static void run_side_by_side(const ms_search *base, attempt *attempts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        link_attempt(base, &attempts[i]);
    ms_threads_run(count, run_attempt, attempts);
}

/* Appends what came of them, and frees them. */
static ms_status collect(const ms_search *base, attempt *attempts, uint32_t count,
                         ms_vec_alternatives *list)
{
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < count && status == MS_OK; i++) {
        ms_alternative kept;
        status = attempts[i].status;
        if (status != MS_OK && base->err && base->err->status == MS_OK)
            *base->err = attempts[i].err;
        if (status == MS_OK)
            status = keep_figures(base, &attempts[i], &kept);
        if (status == MS_OK && !ms_vec_push(list, kept))
            status = MS_ERR_NOMEM;
        if (status == MS_ERR_NOMEM)
            ms_error_set(base->err, status, "out of memory for the comparison");
    }
    for (uint32_t i = 0; i < count; i++)
        ms_arena_free(attempts[i].arena);
    return status;
}

static ms_status no_memory(const ms_search *base, attempt *attempts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ms_arena_free(attempts[i].arena);
    return ms_fail(base->err, MS_ERR_NOMEM, "out of memory for the comparison");
}

/* Allocators are fickle: now and then a simpler planner's assignment fits where no better one was
 * found to. Then it is the plan. */
static ms_status adopt(ms_search *search, const attempt *a)
{
    ms_step_plan *plan = search->plan;
    if (a->status != MS_OK || !a->search.has_best ||
        !ms_step_plan_accepts(search->task, &a->plan.plan) ||
        a->plan.plan.time.step_ms >= plan->plan.time.step_ms)
        return MS_OK;
    ms_alternative kept;
    ms_status status = keep_figures(search, a, &kept);
    if (status == MS_OK)
        status = ms_assignment_copy(search->arena, &search->costs, &a->search.best, &search->best,
                                    search->err);
    if (status != MS_OK)
        return ms_fail(search->err, status, "out of memory for the comparison");
    double bound = plan->bound_ms;
    plan->plan = kept.figures;
    plan->bound_ms = bound < kept.figures.time.step_ms ? bound : kept.figures.time.step_ms;
    plan->gap = 1 - plan->bound_ms / kept.figures.time.step_ms;
    ms_step_plan_claim(search->task, plan);
    return MS_OK;
}

ms_status ms_compare_planners(ms_search *search)
{
    static const ms_planner others[] = {MS_PLANNER_GREEDY, MS_PLANNER_RULES, MS_PLANNER_UNIFORM};
    enum { COUNT = sizeof others / sizeof others[0] };
    attempt *attempts = ms_arena_array(search->arena, attempt, COUNT);
    if (!attempts)
        return no_memory(search, NULL, 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        if (!set_attempt(search, ms_planner_names[others[i]], &attempts[i]))
            return no_memory(search, attempts, i);
        attempts[i].planner = others[i];
    }
    run_side_by_side(search, attempts, COUNT);
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < COUNT && status == MS_OK; i++)
        status = adopt(search, &attempts[i]);
    ms_status collected = collect(search, attempts, COUNT, &search->plan->compared);
    return status == MS_OK ? collected : status;
}

/* ---- changes of the run ---- */

/* In full, as other figures of plans are. */
static ms_status keep(const ms_search *s, const ms_job *job, const ms_suggestion *suggestion)
{
    ms_variation v;
    ms_alternative kept = {.name = suggestion->title,
                           .option = suggestion->option,
                           .cost = suggestion->cost,
                           .changes = suggestion->changes,
                           .has_figures = true};
    ms_status status = ms_suggestion_apply(job, suggestion, s->arena, &v, s->err);
    if (status == MS_OK)
        status = ms_step_plan_simulate(s->arena, v.model, &v.run, &v.run.treatments, &kept.figures,
                                       s->err);
    if (status != MS_OK || ms_vec_push(&s->plan->suggestions, kept))
        return status;
    return ms_fail(s->err, MS_ERR_NOMEM, "no memory for a suggestion");
}

/* The run with everything kept, as it would be given: with what was moved to the host. */
static ms_status take_run(const ms_search *s, ms_variation *v)
{
    const ms_treatment keep = {.kind = MS_TREAT_KEEP};
    const ms_run_config *run = s->task->run;
    *v = ms_vary_run(s->task->model, run, s->arena);
    ms_run_draft *draft = ms_arena_array(s->arena, ms_run_draft, 1);
    if (!draft || !ms_vary_all_layers(v, &keep, 0))
        return ms_fail(s->err, MS_ERR_NOMEM, "no memory for a suggestion");
    *draft = *run->draft;
    ms_run_field_unset(draft, "treat");
    ms_run_field_unset(draft, "checkpointing");
    v->run.treat = "";
    v->run.checkpointing = "none";
    v->run.draft = draft;
    ms_status status = MS_OK;
    if (run->training.optimizer_device == MS_OPTIMIZER_ON_HOST)
        status = ms_run_field_set(draft, s->arena, "optimizer-device", "host", s->err);
    if (status == MS_OK && run->parameter_device == MS_PARAMETERS_ON_HOST)
        status = ms_run_field_set(draft, s->arena, "parameter-device", "host", s->err);
    return status;
}

static ms_status advise(const ms_search *s, const ms_job *job, ms_suggestions *list)
{
    ms_simulated simulated;
    ms_status status = ms_simulate(job, MS_SIMULATE_SUMMARY, &simulated, s->err);
    if (status != MS_OK)
        return status;
    const uint32_t events = simulated.simulation.trace.events.count;
    status = ms_advise(&(ms_advised){job, &simulated.summary, events, {0}}, s->arena, list, s->err);
    ms_simulated_free(&simulated);
    return status;
}

ms_status ms_suggest_changes(const ms_search *search)
{
    ms_variation v;
    ms_suggestions list = {0};
    if (!search->task->run->draft)
        return MS_OK;
    ms_status status = take_run(search, &v);
    const ms_job job = ms_variation_job(&v);
    if (status == MS_OK)
        status = advise(search, &job, &list);
    for (uint32_t i = 0; i < list.count && status == MS_OK; i++)
        if (ms_reason_fits(list.items[i].reason))
            status = keep(search, &job, &list.items[i]);
    ms_vec_free(&list);
    return status;
}

/* ---- another allocator ---- */

/* Beyond this it is worth knowing what an allocator that wastes less would do. */
static const double far_from_bound = 0.01, worth_telling = 0.005;

/* Events and options are the same, proofs are not. */
ms_status ms_suggest_allocator(ms_search *search)
{
    ms_step_plan *plan = search->plan;
    attempt a;
    if (plan->gap < far_from_bound)
        return MS_OK;
    if (!set_attempt(search, ms_allocator_change.title, &a))
        return no_memory(search, NULL, 0);
    if (!ms_vary_by(&a.variation, &ms_allocator_change, &a.option)) {
        ms_arena_free(a.arena);
        return MS_OK;
    }
    if (!a.option)
        return no_memory(search, &a, 1);
    link_attempt(search, &a);
    a.search.proofs = NULL;
    run_attempt(&a, 0);
    ms_status status = collect(search, &a, 1, &plan->suggestions);
    bool is_faster = plan->suggestions.count > 0 && plan->suggestions.items[0].has_figures &&
                     ms_step_plan_accepts(&a.task, &plan->suggestions.items[0].figures) &&
                     plan->suggestions.items[0].figures.time.step_ms <
                         plan->plan.time.step_ms * (1 - worth_telling);
    if (!is_faster)
        plan->suggestions.count = 0;
    return status;
}

/* ---- steep ends ---- */

/* More budget is worth telling when it makes the step so much faster. */
static const double much_faster = 1.05;

/* 1 GiB, or 2 % where that is less. */
static uint64_t little_more(uint64_t budget_bytes)
{
    const uint64_t gib = UINT64_C(1) << 30;
    return budget_bytes / 50 < gib ? budget_bytes / 50 : gib;
}

/* Budgets at which treatments cost what checkpointing everything does may lie at a steep end.
 * Others are not worth another search. */
static bool may_be_steep(const ms_step_task *task, const ms_step_plan *plan)
{
    return task->run->budget_bytes > 0 && !task->run->device->has_assumed_rates &&
           *plan->plan.treat && plan->plan.time.step_ms >= plan->checkpoint_all.time.step_ms &&
           !ms_stop_asked(task->stop);
}

/* Events and options are the same, proofs are not. */
ms_status ms_find_steep_end(ms_search *search)
{
    ms_step_plan *plan = search->plan;
    const uint64_t more_bytes = little_more(plan->budget_bytes);
    ms_vec_alternatives list = {0};
    attempt a;
    if (!may_be_steep(search->task, plan) || more_bytes == 0)
        return MS_OK;
    if (!set_attempt(search, "", &a))
        return no_memory(search, NULL, 0);
    ms_budget_set(&a.variation.run, plan->budget_bytes + more_bytes);
    a.is_whole = true;
    link_attempt(search, &a);
    a.search.is_one_of_many = false;
    ms_search_set_capacity(&a.search);
    run_attempt(&a, 0);
    plan->simulations += a.plan.simulations;
    ms_status status = collect(search, &a, 1, &list);
    if (status == MS_OK && list.items[0].has_figures) {
        double step_ms = list.items[0].figures.time.step_ms;
        bool is_steep = step_ms > 0 && plan->plan.time.step_ms > much_faster * step_ms;
        plan->needs.more_bytes = is_steep ? more_bytes : 0;
        plan->needs.more_ms = is_steep ? step_ms : 0;
    }
    ms_vec_free(&list);
    return status;
}

/* ---- trainers ---- */

ms_status ms_price_target(const ms_search *search)
{
    ms_vec_alternatives list = {0};
    attempt free_plan;
    if (!set_attempt(search, "free", &free_plan))
        return no_memory(search, NULL, 0);
    free_plan.measures = true;
    free_plan.task.target = "free";
    run_side_by_side(search, &free_plan, 1);
    ms_status status = collect(search, &free_plan, 1, &list);
    if (status == MS_OK && list.items[0].has_figures) {
        search->plan->target_free_ms = list.items[0].figures.time.step_ms;
        search->plan->target_free_peak_bytes = list.items[0].figures.peak_bytes;
    }
    ms_vec_free(&list);
    return status;
}
