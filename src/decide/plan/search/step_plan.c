/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Solving: measure the options, select, verify by simulation, and report.
 */
#include "decide/plan/search/step_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/size.h"
#include "decide/plan/choose/choose.h"
#include "decide/plan/costs/copies.h"
#include "decide/plan/costs/option_list.h"
#include "decide/plan/search/alternatives.h"
#include "decide/plan/search/search.h"
#include "decide/plan/search/search_stages.h"
#include "decide/plan/search/simulate.h"
#include "decide/plan/trainers/targets.h"
#include "input/config/model/model_config.h"
#include "input/config/treatment/row.h"
#include "input/config/treatment/treatment.h"

/* ---- explain ---- */

/* The rationale of a plan: bytes and time of each treatment, and the reason. */

/* Layers with one option, side by side. */
typedef struct group {
    uint32_t first, last, option;
    int64_t freed_bytes;
    uint64_t host_bytes;
    double added_ms, recompute_ms, exposed_ms;
    bool tells_time;
} group;

/* waits: per layer and step, for its copies in this plan; NULL: as each option has it beside
 * itself. */
static group sum_group(const ms_cost_model *costs, const double *waits, uint32_t first,
                       uint32_t last, uint32_t option)
{
    group g = {.first = first, .last = last, .option = option};
    for (uint32_t i = first; i <= last; i++) {
        const ms_layer_cost *kept = &costs->options[0].layers[i];
        const ms_layer_cost *now = &costs->options[option].layers[i];
        g.freed_bytes += ms_layer_saved(kept, 0) - ms_layer_saved(now, 0);
        g.host_bytes += now->host_bytes;
        double exposed_ms = waits ? waits[i] : now->exposed_ms;
        g.added_ms += now->ms - now->exposed_ms + exposed_ms - kept->ms;
        g.recompute_ms += now->recompute_ms;
        g.exposed_ms += exposed_ms;
    }
    return g;
}

/* The parts of a layer that run again, in pieces or whole: "MLP and attention"; "" for none. */
typedef struct parts {
    char text[64];
    bool are_many;
    uint32_t pieces;
} parts;

static parts list_parts(const ms_treatment *t, bool in_pieces)
{
    parts p = {0};
    for (int i = 0; i < MS_PART_COUNT; i++) {
        const ms_part_row *row = ms_treatment_parts[i];
        if (!t->parts[i] || row->has_pieces != in_pieces)
            continue;
        size_t used = strlen(p.text);
        p.are_many = used > 0 || row->is_plural;
        snprintf(p.text + used, sizeof p.text - used, "%s%s", used ? " and " : "", row->noun);
        p.pieces = p.pieces ? p.pieces : t->parts[i];
    }
    return p;
}

static double layers_of(const group *g)
{
    return g->last - g->first + 1;
}

/* Of each layer's copies. */
static double shown_ms(const group *g)
{
    return g->exposed_ms / layers_of(g);
}

/* ", 1.25 ms" to recompute each layer, or "" when times are not known; NULL: no memory. */
static const char *again(ms_arena *arena, const group *g)
{
    return g->tells_time ? ms_arena_printf(arena, ", %.2f ms", g->recompute_ms / layers_of(g)) : "";
}

/* "; 0.25 ms of its copies are exposed", where the input is on the host and waited for; else "". */
static const char *shown_copies(ms_arena *arena, const ms_treatment *t, const group *g)
{
    if (t->input == MS_INPUT_ON_DEVICE || !g->tells_time || shown_ms(g) < 0.005)
        return "";
    return ms_arena_printf(arena, "; %.2f ms of its copies are exposed", shown_ms(g));
}

static const char *why_checkpoint(ms_arena *arena, const ms_treatment *t, const group *g)
{
    const char *ms = again(arena, g), *copies = shown_copies(arena, t, g);
    parts tiled = list_parts(t, true);
    bool is_tiled = *tiled.text != '\0';
    if (!ms || !copies)
        return NULL;
    return ms_arena_printf(
        arena, "only the layer's input is kept%s; backward recomputes each layer%s%s%s%s%s",
        t->input == MS_INPUT_ON_DEVICE ? "" : ", on the host", ms, is_tiled ? ", its " : "",
        tiled.text, is_tiled ? " in tiles" : "", copies);
}

static const char *why_selective(ms_arena *arena, const ms_treatment *t, const group *g)
{
    const char *copies = shown_copies(arena, t, g);
    const char *input = t->input == MS_INPUT_ON_DEVICE ? "" : ", the input on the host";
    if (!copies)
        return NULL;
    if (!g->tells_time)
        return ms_arena_printf(arena,
                               "the results of %" PRIu32
                               " operators are kept%s; backward recomputes the others",
                               t->kept_count, input);
    return ms_arena_printf(arena,
                           "the results of %" PRIu32 " operators are kept%s, so that recomputing a "
                           "layer takes %.2f ms%s",
                           t->kept_count, input, g->recompute_ms / layers_of(g), copies);
}

static const char *why_offload(ms_arena *arena, const ms_treatment *t, const group *g)
{
    (void)t;
    if (!g->tells_time)
        return ms_arena_strdup(arena, "saved tensors are kept on the host");
    if (shown_ms(g) < 0.005)
        return ms_arena_strdup(arena, "the copies are fully hidden");
    return ms_arena_printf(
        arena, "%.2f ms of each layer's copies are exposed, because its neighbours finish sooner",
        shown_ms(g));
}

/* Of a layer that is kept but for parts of it. */
static const char *why_parts(ms_arena *arena, const ms_treatment *t, const group *g)
{
    parts whole = list_parts(t, false), tiled = list_parts(t, true);
    const char *text = "", *ms = again(arena, g);
    if (*whole.text)
        text = ms_arena_printf(arena, "the %s %s recomputed", whole.text,
                               whole.are_many ? "are" : "is");
    if (text && *tiled.text)
        text = ms_arena_printf(arena, "%s%sthe %s %s recomputed in %" PRIu32 " tiles", text,
                               *text ? ", " : "", tiled.text, tiled.are_many ? "are" : "is",
                               tiled.pieces);
    if (!text || !ms)
        return NULL;
    return ms_arena_printf(arena, "%s%s%s", text, ms, *ms ? " per layer" : "");
}

typedef const char *(*why_fn)(ms_arena *arena, const ms_treatment *t, const group *g);

static const why_fn reasons[MS_TREAT_KIND_COUNT] = {
    [MS_TREAT_KEEP] = why_parts,
    [MS_TREAT_CHECKPOINT] = why_checkpoint,
    [MS_TREAT_SELECTIVE] = why_selective,
    [MS_TREAT_OFFLOAD] = why_offload,
};

static ms_status add(ms_step_plan *plan, const ms_decision *decision, ms_error *err)
{
    if (!decision->treatment || !decision->why || !ms_vec_push(&plan->decisions, *decision))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan's reasons");
    return MS_OK;
}

static ms_status add_loss(ms_arena *arena, const ms_cost_model *costs, uint32_t loss,
                          ms_step_plan *plan, ms_error *err)
{
    const ms_outer_cost *whole = &costs->losses[0], *chunked = &costs->losses[loss];
    int64_t freed = whole->loss_backward_peak[0] - chunked->loss_backward_peak[0];
    const ms_decision decision = {
        .first_layer = MS_NONE,
        .last_layer = MS_NONE,
        .treatment = ms_arena_printf(arena, "chunk:%" PRIu32, chunked->loss_chunks),
        .freed_bytes = freed > 0 ? (uint64_t)freed : 0,
        .added_ms = chunked->ms - whole->ms,
        .why = ms_arena_printf(arena,
                               "the logits of 1/%" PRIu32
                               " of the tokens are computed at a time, and recomputed in backward; "
                               "the bytes are those of the loss itself",
                               chunked->loss_chunks)};
    return add(plan, &decision, err);
}

static int by_freed_bytes(const void *a, const void *b)
{
    const ms_decision *x = a, *y = b;
    if (x->freed_bytes != y->freed_bytes)
        return x->freed_bytes > y->freed_bytes ? -1 : 1;
    return x->first_layer < y->first_layer ? -1 : x->first_layer > y->first_layer;
}

/* Of a step, per layer; *waits: NULL where they are counted layer by layer. */
static ms_status read_waits(ms_arena *arena, const ms_cost_model *costs, const uint32_t *options,
                            double **waits, ms_error *err)
{
    *waits = NULL;
    if (!costs->has_exact_waits)
        return MS_OK;
    *waits = ms_arena_array(arena, double, costs->layer_count);
    if (!*waits)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan's reasons");
    ms_copies_waits(costs, options, *waits);
    return MS_OK;
}

/* Fills plan->decisions, most freed bytes first; `tells_time`: sentences mention times. */
static ms_status ms_explain(ms_arena *arena, const ms_cost_model *costs,
                            const ms_assignment *assignment, bool tells_time, ms_step_plan *plan,
                            ms_error *err)
{
    double *waits;
    ms_status status = read_waits(arena, costs, assignment->options, &waits, err);
    plan->decisions.count = 0;
    for (uint32_t i = 0, last; i < costs->layer_count && status == MS_OK; i = last + 1) {
        uint32_t option = assignment->options[i];
        for (last = i; last + 1 < costs->layer_count && assignment->options[last + 1] == option;)
            last++;
        if (option == 0)
            continue;
        group g = sum_group(costs, waits, i, last, option);
        g.tells_time = tells_time;
        const ms_treatment *t = &costs->options[option].treatment;
        const ms_decision decision = {.first_layer = i,
                                      .last_layer = last,
                                      .treatment = ms_treatment_text(t, arena),
                                      .freed_bytes =
                                          g.freed_bytes > 0 ? (uint64_t)g.freed_bytes : 0,
                                      .host_bytes = g.host_bytes,
                                      .added_ms = g.added_ms,
                                      .why = reasons[t->kind](arena, t, &g)};
        status = add(plan, &decision, err);
    }
    if (status == MS_OK && assignment->loss > 0)
        status = add_loss(arena, costs, assignment->loss, plan, err);
    if (plan->decisions.count > 1)
        qsort(plan->decisions.items, plan->decisions.count, sizeof *plan->decisions.items,
              by_freed_bytes);
    return status;
}

/* ---- step plan ---- */

enum { MOST_LAYERS = 512 };

/* ---- the planners ---- */

static ms_status keep_all(ms_search *s)
{
    s->best.options = ms_arena_array(s->arena, uint32_t, s->costs.layer_count);
    if (!s->best.options)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the plan");
    s->plan->plan = s->plan->keep_all;
    s->plan->outcome = MS_PLAN_LIMIT;
    s->has_best = ms_step_plan_accepts(s->task, &s->plan->plan);
    return MS_OK;
}

static ms_status plan_milp(ms_search *s)
{
    ms_chosen first;
    ms_status status = ms_search_whole(s, &first);
    if (status != MS_OK || !s->has_best)
        return status;
    status = ms_search_finish(s);
    if (status == MS_OK)
        ms_search_set_gap(s, &first);
    return status;
}

static ms_status plan_simply(ms_search *s, ms_choose_fn with)
{
    ms_chosen chosen;
    ms_status status = ms_search_run_as_chosen(s, with, &chosen);
    if (status != MS_OK || !s->has_best)
        return status;
    s->plan->outcome = MS_PLAN_LIMIT;
    return ms_search_finish(s);
}

static ms_status plan_by_rules(ms_search *s)
{
    ms_rules_answer answer;
    ms_status status = ms_rules_choose(s->arena, s->task, &s->costs, s->plan->keep_all.device_bytes,
                                       s->plan->budget_bytes, &answer, s->err);
    if (status != MS_OK)
        return status;
    s->plan->rules_estimate_bytes = answer.estimate_bytes;
    s->plan->rules_estimate_overhead = answer.estimate_overhead;
    s->best = answer.assignment;
    s->plan->outcome = MS_PLAN_LIMIT;
    status = ms_search_finish(s);
    s->has_best = ms_step_plan_accepts(s->task, &s->plan->plan);
    return status;
}

/* The trainer's plans, cheapest first, until one fits. */
static ms_status plan_for_target(ms_search *s, const ms_target *target)
{
    ms_target_plans plans = {0};
    ms_status status = target->list(s->arena, s->task, &s->costs, &plans, s->err);
    bool *tried = ms_arena_array(s->arena, bool, plans.count + 1);
    if (status == MS_OK && !tried)
        status = ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the trainer's plans");
    for (uint32_t n = 0; status == MS_OK && n < plans.count && !s->has_best; n++) {
        uint32_t next = plans.count;
        double least = INFINITY;
        for (uint32_t i = 0; i < plans.count; i++) {
            ms_cost_sum sum = ms_assignment_sum(&s->costs, &plans.items[i].assignment);
            if (tried[i] || sum.step_ms >= least || sum.peak_bytes > s->capacity_bytes)
                continue;
            least = sum.step_ms;
            next = i;
        }
        if (next == plans.count || ms_stop_asked(s->task->stop))
            break;
        bool yes;
        tried[next] = true;
        status = ms_search_consider(s, &plans.items[next].assignment, &yes);
        if (s->has_best)
            s->plan->target_text = plans.items[next].text;
    }
    s->plan->outcome = MS_PLAN_LIMIT;
    if (status == MS_OK)
        status = s->has_best ? ms_search_finish(s)
                             : ms_search_min_budget_of(s, &plans.items[0].assignment,
                                                       sizeof plans.items[0], plans.count);
    ms_vec_free(&plans);
    return status;
}

static ms_status plan_with(ms_search *s, const ms_target *target)
{
    if (!target->is_free)
        return plan_for_target(s, target);
    switch (s->task->planner) {
    case MS_PLANNER_GREEDY:
        return plan_simply(s, ms_choose_greedy);
    case MS_PLANNER_UNIFORM:
        return plan_simply(s, ms_choose_uniform);
    case MS_PLANNER_RULES:
        return plan_by_rules(s);
    case MS_PLANNER_NONE:
        return keep_all(s);
    case MS_PLANNER_MILP:
    case MS_PLANNER_COUNT:
        break;
    }
    return plan_milp(s);
}

/* ---- when nothing fits ---- */

static ms_status fail_infeasible(ms_search *s, const ms_target *target)
{
    char budget[MS_SIZE_TEXT_BYTES], least[MS_SIZE_TEXT_BYTES];
    const uint64_t whole_bytes = s->task->whole_bytes;
    ms_size_format(whole_bytes ? whole_bytes : s->plan->budget_bytes, budget, sizeof budget);
    ms_size_format(s->plan->least_budget_bytes + s->task->left_bytes, least, sizeof least);
    s->plan->outcome = MS_PLAN_INFEASIBLE;
    s->plan->is_ruled_out = s->is_ruled_out;
    if (s->task->planner != MS_PLANNER_MILP && target->is_free)
        return ms_fail(s->err, MS_ERR_INFEASIBLE, "the %s planner has no plan that fits %s",
                       ms_planner_names[s->task->planner], budget);
    if (!target->is_free)
        return ms_fail(s->err, MS_ERR_INFEASIBLE, "%s has no plan that fits %s", target->title,
                       budget);
    if (s->plan->least_budget_bytes == 0)
        return ms_fail(s->err, MS_ERR_INFEASIBLE, "no plan that fits %s was found%s", budget,
                       ms_deadline_left_s(&s->limit) > 0 ? "" : " before --time-limit");
    return ms_fail(s->err, MS_ERR_INFEASIBLE, "%s %s: the smallest budget found is %s",
                   s->is_ruled_out ? "no combination of these options fits"
                                   : "no plan was found that fits",
                   budget, least);
}

/* ---- a request to stop ---- */

static ms_status fail_stopped(ms_search *s)
{
    s->plan->outcome = MS_PLAN_STOPPED;
    return ms_fail(s->err, MS_ERR_STOPPED, "%s",
                   s->has_best ? "stopped; this is the best plan found so far"
                               : "stopped before a plan that fits was found");
}

/* A comparison with a search that was cut short means nothing. */
static void forget_comparison(ms_step_plan *plan)
{
    plan->compared.count = 0;
    plan->target_free_ms = 0;
    plan->target_free_peak_bytes = 0;
}

/* ---- solving ---- */

static bool has_ranks(const ms_search *s)
{
    return s->task->run->parallel.layout.kind != MS_PARALLEL_NONE;
}

/* What the trainer cannot say of the ranks. */
static ms_status check_ranks(const ms_search *s, const ms_target *target)
{
    const char *text;
    if (!has_ranks(s) || (target->is_free && !target->text))
        return MS_OK;
    if (!target->ranks)
        return ms_fail(s->err, MS_ERR_USAGE, "no plan for several ranks is printed for %s",
                       target->title);
    return target->ranks(s->arena, s->task->run, false, &text, s->err);
}

/* Behind the settings for the plan, those for the ranks. Code has its own. */
static ms_status add_ranks(ms_search *s, const ms_target *target)
{
    const char *text;
    const bool checkpoints = s->best.options[0] != MS_OPTION_KEEP;
    if (!has_ranks(s) || target->is_free || !s->plan->target_text)
        return MS_OK;
    ms_status status = target->ranks(s->arena, s->task->run, checkpoints, &text, s->err);
    if (status != MS_OK)
        return status;
    s->plan->target_text = ms_arena_printf(s->arena, "%s\n\n%s", s->plan->target_text, text);
    return s->plan->target_text
               ? MS_OK
               : ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the trainer's text");
}

/* What the plan frees and costs, in words. */
static ms_status explain(ms_search *s, const ms_target *target)
{
    ms_status status = add_ranks(s, target);
    if (status != MS_OK)
        return status;
    if (target->text && s->has_best) {
        s->plan->target_text = target->text(s->arena, s->task, &s->plan->plan.treatments);
        if (!s->plan->target_text)
            return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the trainer's text");
    }
    return ms_explain(s->arena, &s->costs, &s->best, !s->task->run->device->has_assumed_rates,
                      s->plan, s->err);
}

/* What the answer is compared with. */
static ms_status compare(ms_search *s, const ms_target *target)
{
    if (s->task->alone)
        return MS_OK;
    if (!target->is_free)
        return s->has_best ? ms_price_target(s) : MS_OK;
    if (s->task->planner != MS_PLANNER_MILP)
        return MS_OK;
    if (!s->has_best)
        return ms_suggest_changes(s);
    if (ms_step_plan_accepts(s->task, &s->plan->keep_all))
        return MS_OK;
    ms_status status = ms_compare_planners(s);
    if (status == MS_OK)
        status = ms_suggest_allocator(s);
    return status == MS_OK ? ms_find_steep_end(s) : status;
}

/* Then no option is looked at. */
static bool needs_no_treatment(const ms_search *s, const ms_target *target)
{
    ms_planner planner = s->task->planner;
    return target->is_free && ms_step_plan_accepts(s->task, &s->plan->keep_all) &&
           planner == MS_PLANNER_NONE;
}

static ms_status solve(ms_search *s, const ms_target *target)
{
    ms_status status = ms_layout_check_plan(s->task->run, s->err);
    if (status == MS_OK)
        status = check_ranks(s, target);
    if (status == MS_OK)
        status = ms_search_prepare(s, target);
    if (status == MS_OK && !needs_no_treatment(s, target))
        status = ms_search_measure(s);
    if (status == MS_OK)
        status = plan_with(s, target);
    bool has_figures = s->plan->plan.treat != NULL;
    if (status == MS_OK && !s->has_best && !has_figures && target->is_free)
        status = ms_search_min_budget(s);
    bool is_stopped = ms_stop_asked(s->task->stop);
    if (status == MS_OK && !is_stopped)
        status = compare(s, target);
    if (ms_stop_asked(s->task->stop))
        forget_comparison(s->plan);
    if (status == MS_OK && s->best.options)
        status = explain(s, target);
    bool is_proven = s->has_best && s->plan->outcome == MS_PLAN_OPTIMAL;
    if (status == MS_OK && is_stopped && !is_proven)
        return fail_stopped(s);
    return status == MS_OK && !s->has_best ? fail_infeasible(s, target) : status;
}

/* The time that a plan takes grows with the layers, and faster. */
static ms_status check_layers(const ms_step_task *task, ms_error *err)
{
    if (task->planner != MS_PLANNER_MILP || task->model->num_layers <= MOST_LAYERS)
        return MS_OK;
    return ms_fail(err, MS_ERR_LIMIT,
                   "planner: milp plans for up to %d layers, and the model has %" PRIu64
                   ": --planner greedy, rules or uniform plan for more",
                   (int)MOST_LAYERS, task->model->num_layers);
}

ms_status ms_step_plan_solve(ms_arena *arena, const ms_step_task *task, ms_step_plan *plan,
                             ms_error *err)
{
    double start = ms_now_ms();
    *plan = (ms_step_plan){0};
    ms_search s = {.arena = arena,
                   .task = task,
                   .plan = plan,
                   .err = err,
                   .limit = ms_deadline_begin(task->time_limit_s, task->stop)};
    const ms_target *target = ms_target_find(task->target);
    if (!target)
        return ms_fail(err, MS_ERR_USAGE, "no target '%.40s'", task->target);
    if (target->unpredicted)
        return ms_fail(err, MS_ERR_CONFIG, "no plan for %s: %s", target->title,
                       target->unpredicted);
    ms_status status = check_layers(task, err);
    if (status == MS_OK)
        status = solve(&s, target);
    plan->is_cut = !(ms_deadline_left_s(&s.limit) > 0);
    plan->solve_ms = ms_now_ms() - start;
    return status;
}

void ms_step_plan_free(ms_step_plan *plan)
{
    ms_vec_free(&plan->decisions);
    ms_vec_free(&plan->compared);
    ms_vec_free(&plan->suggestions);
}

static void forget_times(ms_step_figures *figures)
{
    figures->time = (ms_step_time){0};
}

void ms_step_plan_forget_times(ms_step_plan *plan)
{
    forget_times(&plan->plan);
    forget_times(&plan->keep_all);
    forget_times(&plan->checkpoint_all);
    for (uint32_t i = 0; i < plan->compared.count; i++)
        forget_times(&plan->compared.items[i].figures);
    for (uint32_t i = 0; i < plan->suggestions.count; i++)
        forget_times(&plan->suggestions.items[i].figures);
    for (uint32_t i = 0; i < plan->decisions.count; i++)
        plan->decisions.items[i].added_ms = NAN;
    plan->bound_ms = 0;
    plan->target_free_ms = 0;
}
