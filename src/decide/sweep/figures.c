/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/sweep/figures.h"

#include <math.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/run/run_fields.h"
#include "decide/fit/trial.h"
#include "decide/plan/costs/measure.h"
#include "decide/plan/costs/cost_model.h"
#include "model/load.h"
#include "decide/plan/search/simulate.h"
#include "run/simulate/ranks.h"
#include "run/simulate/summary.h"

/* Those that are given, in front. */
static ms_status gather(ms_arena *arena, const ms_point *point, uint32_t input_count,
                        ms_run_setting **settings, size_t *count, ms_error *err)
{
    *settings = ms_arena_array(arena, ms_run_setting, input_count);
    if (!*settings)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a point");
    for (uint32_t i = 0; i < input_count; i++) {
        const ms_run_setting *setting = &point->settings[i];
        if (!setting->value)
            continue;
        bool is_file = ms_run_field_kind((size_t)ms_run_field_find(setting->field))->is_file;
        if (is_file && strcmp(setting->value, "-") == 0)
            return ms_fail(err, MS_ERR_USAGE, "%s: a sweep cannot read a file from standard input",
                           setting->field);
        (*settings)[(*count)++] = *setting;
    }
    return MS_OK;
}

static uint64_t in_e4(double value)
{
    return isfinite(value) && value > 0 && value < 1e14 ? (uint64_t)(value * 1e4 + 0.5) : 0;
}

double ms_figures_usd_per_hour(const ms_run_config *run)
{
    return run->device->usd_per_hour * (double)ms_layout_world(&run->parallel.layout);
}

double ms_figures_usd(const ms_run_config *run, double tokens_per_s)
{
    return tokens_per_s > 0 ? ms_figures_usd_per_hour(run) / 3600 / tokens_per_s * 1e6 : 0;
}

static void add_times(const ms_run_config *run, ms_figures *figures)
{
    const ms_summary *s = &figures->summary;
    figures->step_time_ms_e4 = in_e4(s->step_time_ms);
    figures->tokens_per_s_e4 = in_e4(s->tokens_per_s);
    figures->tokens_per_s_per_gpu_e4 = in_e4(s->tokens_per_s_per_gpu);
    figures->usd_per_hour_e4 = in_e4(ms_figures_usd_per_hour(run));
    figures->usd_per_million_tokens_e4 = in_e4(ms_figures_usd(run, s->tokens_per_s));
}

static ms_status summarize(const ms_job *job, ms_figures *figures, ms_error *err)
{
    ms_simulated simulated;
    ms_status status = ms_simulate(job, MS_SIMULATE_SUMMARY, &simulated, err);
    if (status != MS_OK)
        return status;
    figures->summary = simulated.summary;
    ms_simulated_free(&simulated);
    add_times(job->run, figures);
    return MS_OK;
}

/* The run with a value. A deeper model or a higher rank trains as many tokens. */
static ms_status summarize_value(ms_arena *arena, const ms_fit_question *question, uint64_t value,
                                 ms_figures *figures, ms_error *err)
{
    const ms_read_keys *keys = &question->run->keys;
    ms_variation largest;
    ms_status status = ms_fit_apply(question, value, arena, &largest, err);
    largest.run.training.eval_batch = 0; /* the search looks at steps alone */
    const ms_job found = ms_variation_job(&largest);
    if (status == MS_OK)
        status = summarize(&found, figures, err);
    if (status == MS_OK)
        ms_summary_set_reason(&figures->summary,
                              ms_reason_with_keys(figures->summary.verdict_reason, keys));
    return status;
}

static ms_status fit(ms_arena *arena, const ms_job *job, const ms_run_config *shared,
                     const ms_question *question, ms_figures *figures, ms_error *err)
{
    ms_fit_answer answer;
    const ms_fit_question asked = {question->what, question->step, job->model, job->run, shared};
    ms_status status = ms_fit_find_value(&asked, &answer, err);
    if (status != MS_OK)
        return status;
    figures->what = answer.what->name;
    figures->value = answer.value;
    figures->safe_value = answer.safe_value;
    figures->next = answer.next;
    figures->stopped_by = ms_fit_end_names[answer.end];
    figures->summary.budget_bytes = job->run->budget_bytes;
    const uint64_t tried = answer.value > 0 ? answer.value : answer.next;
    return tried > 0 ? summarize_value(arena, &asked, tried, figures, err) : MS_OK;
}

ms_status ms_figures_find(ms_arena *arena, const ms_point *point, uint32_t input_count,
                          const ms_question *question, ms_figures *figures, ms_error *err)
{
    ms_model_config model;
    ms_run_config run, shared; /* the latter on several ranks, for the fewest GPUs */
    const ms_loaded into = {&model, &run, NULL};
    const ms_job job = {.model = &model, .run = &run};
    ms_run_setting *settings = NULL;
    size_t count = 0;
    *figures = (ms_figures){.model = NULL};
    if (point->status != MS_OK) {
        *err = point->err;
        return point->status;
    }
    ms_status status = gather(arena, point, input_count, &settings, &count, err);
    bool is_shared = question->what && question->what->kind == MS_FIT_GPUS;
    if (status == MS_OK && is_shared)
        status = ms_run_load_shared(arena, settings, count, &into, &shared, err);
    else if (status == MS_OK)
        status = ms_run_load(arena, settings, count, &model, &run, NULL, err);
    if (status != MS_OK)
        return status;
    figures->model = model.name;
    if (question->what)
        return fit(arena, &job, &shared, question, figures, err);
    status = ms_shares_resolve(arena, &model, &run, err);
    if (status == MS_OK)
        status = ms_ranks_settle(arena, &model, &run, err);
    return status == MS_OK ? summarize(&job, figures, err) : status;
}
