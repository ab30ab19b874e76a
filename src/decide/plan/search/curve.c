/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The curve: a plan for each of several budgets. The options are measured once; the points are
 * searched in parallel, and if a smaller budget has a faster plan, that plan is simulated under the
 * larger one.
 */
#include "decide/plan/search/curve.h"

#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "base/threads.h"
#include "input/config/model/model_config.h"
#include "input/config/run/run_config.h"
#include "decide/plan/choose/choose.h"
#include "decide/plan/search/search.h"
#include "decide/plan/search/search_stages.h"
#include "decide/plan/search/search_local.h"
#include "decide/plan/search/simulate.h"
#include "decide/plan/trainers/targets.h"

/* One point, alone in its thread. */
typedef struct point {
    ms_arena *arena;
    ms_step_task task;
    ms_run_config run;
    ms_step_plan plan;
    ms_search search;
    ms_assignment least;        /* what needs least */
    uint64_t keep_budget_bytes; /* with this much everything can be kept */
    ms_status status;
    ms_error err;
} point;

/* Nearer than that it is not worth looking elsewhere. */
static const double near_bound = 1.03;

static void search_point(void *context, uint32_t index)
{
    point *p = &((point *)context)[index];
    ms_chosen chosen = {0};
    ms_search_set_capacity(&p->search);
    if (ms_stop_asked(p->task.stop))
        return;
    bool yes;
    if (p->run.budget_bytes >= p->keep_budget_bytes)
        p->status = ms_search_take_kept(&p->search);
    if (p->status == MS_OK)
        p->status = ms_search_run(&p->search, ms_choose_milp, &chosen);
    if (p->status == MS_OK && !p->search.has_best && p->least.options)
        p->status = ms_search_consider(&p->search, &p->least, &yes);
    bool is_near = p->search.has_best && p->search.best_ms < near_bound * chosen.bound;
    if (p->status == MS_OK && !is_near)
        p->status = ms_search_restart(&p->search, chosen.bound);
    if (p->status == MS_OK && !is_near)
        p->status = ms_search_local(&p->search, chosen.bound);
    if (p->status != MS_OK || !p->search.has_best)
        return;
    p->status = ms_search_finish(&p->search);
    if (p->status == MS_OK)
        ms_search_set_gap(&p->search, &chosen);
}

/* A larger budget is never slower: the plan of a smaller one will do. */
static ms_status carry_over(const ms_step_task *task, point *points, uint32_t count, ms_error *err)
{
    ms_status status = MS_OK;
    for (uint32_t i = 1; i < count && status == MS_OK; i++) {
        point *p = &points[i];
        const point *before = &points[i - 1];
        bool slower =
            !p->search.has_best || p->plan.plan.time.step_ms > before->plan.plan.time.step_ms;
        if (!before->search.has_best || !slower)
            continue;
        ms_step_figures figures;
        status = ms_step_plan_simulate(p->arena, task->model, &p->run,
                                       &before->plan.plan.treatments, &figures, err);
        if (status != MS_OK)
            continue;
        /* otherwise it is to be run with the smaller one as its limit */
        if (!ms_step_plan_accepts(&p->task, &figures))
            figures = before->plan.plan;
        double bound = p->search.has_best ? p->plan.bound_ms : before->plan.bound_ms;
        p->plan.plan = figures;
        p->plan.gap = (figures.time.step_ms - bound) / figures.time.step_ms;
        p->plan.gap = p->plan.gap > 0 ? p->plan.gap : 0;
        p->plan.bound_ms = bound < figures.time.step_ms ? bound : figures.time.step_ms;
        p->search.has_best = true;
    }
    return status;
}

/* Points outlive their threads' arenas. */
static ms_status keep_point(ms_arena *arena, const ms_step_task *task, const point *p,
                            ms_curve *curve, ms_error *err)
{
    const uint64_t budget_bytes = p->run.budget_bytes + task->left_bytes;
    ms_curve_point kept = {.budget_bytes = budget_bytes,
                           .figures = p->plan.plan,
                           .bound_ms = p->plan.bound_ms,
                           .gap = p->plan.gap};
    kept.figures.treat = "";
    ms_status status = p->search.has_best ? ms_step_figures_copy(arena, task->model->num_layers,
                                                                 &p->plan.plan, &kept.figures, err)
                                          : MS_OK;
    if (status != MS_OK)
        return status;
    if (p->search.has_best)
        ms_step_figures_judge(&kept.figures, budget_bytes);
    if (!ms_vec_push(&curve->points, kept))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the curve");
    return MS_OK;
}

static ms_status set_point(const ms_search *base, uint64_t budget_bytes, point *p, ms_error *err)
{
    *p = (point){.arena = ms_arena_create(0), .task = *base->task, .run = *base->task->run};
    if (!p->arena)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the curve");
    ms_budget_set(&p->run, budget_bytes);
    p->task.run = &p->run;
    p->least = base->best;
    ms_search_fork(base, &p->task, p->arena, &p->plan, &p->err, &p->search);
    return MS_OK;
}

static ms_status trace_points(ms_search *base, uint64_t least, uint64_t most, uint32_t count,
                              point *points, ms_curve *curve)
{
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < count && status == MS_OK; i++) {
        double share = count > 1 ? (double)i / (count - 1) : 1;
        uint64_t budget =
            i + 1 == count ? most : least + (uint64_t)((double)(most - least) * share);
        status = set_point(base, budget, &points[i], base->err);
        points[i].keep_budget_bytes = most;
    }
    if (status == MS_OK)
        ms_threads_run(count, search_point, points);
    for (uint32_t i = 0; i < count && status == MS_OK; i++) {
        status = points[i].status;
        if (status != MS_OK && base->err && base->err->status == MS_OK)
            *base->err = points[i].err;
    }
    if (status == MS_OK)
        status = carry_over(base->task, points, count, base->err);
    for (uint32_t i = 0; i < count && status == MS_OK; i++)
        if (points[i].search.has_best || !ms_stop_asked(base->task->stop))
            status = keep_point(base->arena, base->task, &points[i], curve, base->err);
    for (uint32_t i = 0; i < count; i++)
        ms_arena_free(points[i].arena);
    return status;
}

/* The ends come from a run without a limit. */
static ms_status trace(ms_arena *arena, const ms_step_task *task, uint32_t count, ms_curve *curve,
                       ms_error *err)
{
    ms_step_plan plan = {0};
    ms_run_config unlimited = *task->run;
    ms_step_task free_task = *task;
    ms_budget_lift(&unlimited);
    free_task.run = &unlimited;
    free_task.margin = (ms_plan_margin){0}; /* points are planned within their budget less that */
    free_task.left_bytes = ms_plan_margin_bytes(&task->margin);
    ms_search base = {.arena = arena,
                      .task = &free_task,
                      .plan = &plan,
                      .err = err,
                      .limit = ms_deadline_begin(task->time_limit_s, task->stop)};
    ms_status status = ms_search_begin(&base, ms_target_find("free"));
    if (status == MS_OK)
        status = ms_search_min_budget(&base);
    uint64_t least = plan.least_budget_bytes, most = 0;
    if (status == MS_OK)
        status = ms_search_smallest_budget(&base, &plan.keep_all.treatments,
                                           plan.keep_all.peak_bytes, &most);
    curve->keep_all = plan.keep_all;
    point *points = ms_arena_array(arena, point, count);
    if (status == MS_OK && !points)
        status = ms_fail(err, MS_ERR_NOMEM, "out of memory for the curve");
    if (least == 0 || least >= most) { /* nothing is known to need less than all kept */
        least = most;
        count = 1;
    }
    if (status == MS_OK && !ms_stop_asked(task->stop))
        status = trace_points(&base, least, most, count, points, curve);
    ms_step_plan_free(&plan);
    if (status == MS_OK && ms_stop_asked(task->stop))
        return ms_fail(err, MS_ERR_STOPPED, "stopped; these are the best points found so far");
    return status;
}

ms_status ms_curve_trace(ms_arena *arena, const ms_step_task *task, uint32_t point_count,
                         ms_curve *curve, ms_error *err)
{
    double start = ms_now_ms();
    *curve = (ms_curve){0};
    ms_status status = trace(arena, task, point_count, curve, err);
    curve->solve_ms = ms_now_ms() - start;
    return status;
}

void ms_curve_free(ms_curve *curve)
{
    ms_vec_free(&curve->points);
}

void ms_curve_forget_times(ms_curve *curve)
{
    curve->keep_all.time = (ms_step_time){0};
    for (uint32_t i = 0; i < curve->points.count; i++) {
        curve->points.items[i].figures.time = (ms_step_time){0};
        curve->points.items[i].bound_ms = 0;
    }
}
