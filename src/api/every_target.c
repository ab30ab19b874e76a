/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/every_target.h"

#include "decide/plan/needs/needs.h"
#include "decide/plan/rank_plan.h"
#include "decide/plan/trainers/targets.h"

/* What the trainer cannot express; other failures are not about the trainer. */
static bool is_of_trainer(ms_status status)
{
    return status == MS_ERR_CONFIG || status == MS_ERR_USAGE || status == MS_ERR_LIMIT;
}

static ms_status solve_one(ms_arena *arena, const ms_step_task *task, const ms_step_plan *free_plan,
                           ms_target_answer *answer, ms_error *err)
{
    ms_step_task own = *task;
    ms_run_config run = *task->run; /* each plan has its own rank that needs most */
    ms_error reason = {0};
    own.run = &run;
    own.target = answer->target->name;
    own.alone = true;
    ms_status status = ms_rank_plan_solve(arena, &own, &run, &answer->plan, &reason);
    if (is_of_trainer(status)) {
        ms_step_plan_free(&answer->plan);
        answer->plan = (ms_step_plan){.outcome = MS_PLAN_INFEASIBLE};
        answer->unsupported = ms_arena_strdup(arena, reason.text);
        return answer->unsupported ? MS_OK
                                   : ms_fail(err, MS_ERR_NOMEM, "out of memory for the trainers");
    }
    answer->plan.target_free_ms = free_plan->plan.time.step_ms;
    answer->plan.target_free_peak_bytes = free_plan->plan.peak_bytes;
    if (status == MS_OK && answer->target->held_text)
        return ms_plan_limit_find(arena, &own, &answer->plan, err);
    if (status == MS_OK || status == MS_ERR_INFEASIBLE)
        return MS_OK;
    if (status == MS_ERR_STOPPED)
        return ms_fail(err, status, "stopped; %s and later trainers are missing",
                       answer->target->name);
    return ms_fail(err, status, "%s: %s", answer->target->name, reason.text);
}

ms_status ms_every_target_solve(ms_arena *arena, const ms_step_task *task,
                                const ms_step_plan *free_plan, ms_target_answers *answers,
                                ms_error *err)
{
    const ms_target *target;
    ms_status status = MS_OK;
    for (size_t i = 1; (target = ms_target_at(i)) != NULL && status == MS_OK; i++) {
        ms_target_answer answer = {.target = target};
        status = solve_one(arena, task, free_plan, &answer, err);
        if (status == MS_OK && !ms_vec_push(answers, answer))
            status = ms_fail(err, MS_ERR_NOMEM, "no memory for the trainers");
        if (status != MS_OK)
            ms_step_plan_free(&answer.plan);
    }
    return status;
}

void ms_every_target_free(ms_target_answers *answers)
{
    for (uint32_t i = 0; i < answers->count; i++)
        ms_step_plan_free(&answers->items[i].plan);
    ms_vec_free(answers);
}
