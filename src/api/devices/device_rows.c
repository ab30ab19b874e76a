/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/devices/device_rows.h"

#include <inttypes.h>
#include <string.h>

#include "api/plan.h"
#include "base/threads.h"
#include "input/config/run/run_config.h"

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for a table of devices");
}

static bool ends_all(ms_status status)
{
    return status == MS_ERR_NOMEM || status == MS_ERR_STOPPED;
}

/* Keeps why a row has no figures. */
static ms_status keep_reason(ms_arena *arena, const ms_error *reason, ms_runs_row *row,
                             ms_error *first)
{
    row->error = ms_arena_printf(arena, "%s%s%s", reason->pointer, *reason->pointer ? ": " : "",
                                 reason->text);
    if (first->status == MS_OK)
        *first = *reason;
    return row->error ? MS_OK : MS_ERR_NOMEM;
}

/* ---- simulated and searched ---- */

typedef struct work_item {
    ms_arena *arena;
    ms_figures figures;
    ms_error reason;
} work_item;

typedef struct working {
    const ms_device_run *run;
    const ms_question *question;
    const ms_device_list *devices;
    work_item *items;
} working;

static ms_status run_one(const working *w, uint32_t index)
{
    work_item *item = &w->items[index];
    size_t count = w->run->count;
    ms_run_setting *settings = ms_arena_array(item->arena, ms_run_setting, count);
    if (!settings)
        return no_memory(&item->reason);
    memcpy(settings, w->run->settings, count * sizeof *settings);
    settings[count - 1].value = w->devices->names[index];
    const ms_point point = {.index = index, .settings = settings};
    return ms_figures_find(item->arena, &point, (uint32_t)count, w->question, &item->figures,
                           &item->reason);
}

static void work(void *context, uint32_t index)
{
    const working *w = context;
    work_item *item = &w->items[index];
    item->arena = ms_arena_create(0);
    if (item->arena)
        ms_arena_set_inputs(item->arena, w->run->inputs);
    item->reason.status = item->arena ? run_one(w, index) : no_memory(&item->reason);
}

static void take_figures(const ms_figures *f, ms_runs_row *row)
{
    const ms_summary *s = &f->summary;
    const bool is_found = !f->what || f->value > 0;
    row->has_step = is_found || f->next > 0;
    row->budget_bytes = s->budget_bytes;
    row->value = f->value;
    row->safe_value = f->safe_value;
    row->next = f->next;
    row->stopped_by = f->stopped_by; /* static */
    bool is_open = is_found || s->verdict == MS_VERDICT_UNKNOWN;
    row->verdict = ms_fit_verdict_name(is_open ? s->verdict : MS_VERDICT_NO);
    row->verdict_reason =
        ms_fit_reason_name(row->has_step ? s->verdict_reason : MS_FIT_OVER_BUDGET);
    row->needed_bytes = s->expected_device_bytes;
    row->usd_per_hour = (double)f->usd_per_hour_e4 / 1e4;
    if (!is_found)
        return; /* what does not fit takes no time */
    row->step_ms = (double)f->step_time_ms_e4 / 1e4;
    row->tokens_per_s = (double)f->tokens_per_s_e4 / 1e4;
    row->tokens_per_s_per_gpu = (double)f->tokens_per_s_per_gpu_e4 / 1e4;
    row->usd_per_million_tokens = (double)f->usd_per_million_tokens_e4 / 1e4;
}

ms_status ms_device_rows_find(ms_arena *arena, const ms_device_run *run,
                              const ms_question *question, const ms_device_list *devices,
                              ms_runs_row *rows, ms_error *first, ms_error *err)
{
    working w = {.run = run, .question = question, .devices = devices};
    w.items = ms_arena_array(arena, work_item, devices->count);
    if (!w.items)
        return no_memory(err);
    ms_threads_run(devices->count, work, &w);
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < devices->count; i++) {
        work_item *item = &w.items[i];
        if (status == MS_OK && ends_all(item->reason.status))
            status = ms_fail(err, item->reason.status, "%s", item->reason.text);
        else if (item->reason.status != MS_OK && status == MS_OK)
            status = keep_reason(arena, &item->reason, &rows[i], first);
        else
            take_figures(&item->figures, &rows[i]);
        ms_arena_free(item->arena);
    }
    return status == MS_ERR_NOMEM ? no_memory(err) : status;
}

/* ---- planned ---- */

/* The same plan for another device. */
static ms_plan *plan_on(const ms_plan *plan, const char *device, ms_error *err)
{
    ms_plan *own = ms_plan_create();
    if (!own)
        return (void)no_memory(err), NULL;
    own->settings = plan->settings; /* texts are in the arena of `plan` */
    own->watch = plan->watch;
    own->is_brief = true;
    ms_plan_set_inputs(own, ms_arena_inputs(plan->arena));
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < plan->run_settings.count && status == MS_OK; i++) {
        const ms_run_setting *setting = &plan->run_settings.items[i];
        status = ms_plan_set_run(own, setting->field, setting->value, err);
    }
    if (status == MS_OK)
        status = ms_plan_set_run(own, "device", device, err);
    if (status == MS_OK)
        return own;
    ms_plan_free(own);
    return NULL;
}

static ms_status take_plan(ms_arena *arena, const ms_plan *plan, ms_runs_row *row)
{
    const ms_step_plan *step = &plan->step;
    const ms_step_figures *f = &step->plan;
    bool fits = step->outcome != MS_PLAN_INFEASIBLE && f->treat && ms_reason_fits(f->reason);
    const ms_fit_reason reason =
        ms_reason_with_keys(fits ? f->reason : MS_FIT_OVER_BUDGET, &plan->run.keys);
    row->has_step = f->treat != NULL;
    row->budget_bytes = step->budget_bytes;
    row->verdict = ms_fit_verdict_name(ms_reason_verdict(reason));
    row->verdict_reason = ms_fit_reason_name(reason);
    row->needed_bytes =
        !fits && step->least_budget_bytes ? step->least_budget_bytes : f->device_bytes;
    row->treat = ms_arena_strdup(arena, f->treat ? f->treat : "");
    row->step_ms = f->time.step_ms > 0 ? f->time.step_ms : 0;
    row->keep_all_ms = step->keep_all.time.step_ms > 0 ? step->keep_all.time.step_ms : 0;
    row->tokens_per_s = ms_run_tokens_per_s(&plan->run, row->step_ms);
    row->tokens_per_s_per_gpu = ms_run_tokens_per_s_per_gpu(&plan->run, row->step_ms);
    row->usd_per_hour = ms_figures_usd_per_hour(&plan->run);
    row->usd_per_million_tokens = ms_figures_usd(&plan->run, row->tokens_per_s);
    return row->treat ? MS_OK : MS_ERR_NOMEM;
}

static ms_status plan_one(ms_arena *arena, const ms_plan *plan, const char *device,
                          ms_runs_row *row, ms_error *first, ms_error *err)
{
    ms_error reason = {.status = MS_OK};
    ms_plan *own = plan_on(plan, device, err);
    if (!own)
        return err->status;
    ms_status status = ms_plan_solve(own, &reason);
    if (status == MS_OK || (status == MS_ERR_INFEASIBLE && own->is_solved))
        status = take_plan(arena, own, row);
    else if (ends_all(status))
        (void)ms_fail(err, status, "%s", reason.text);
    else
        status = keep_reason(arena, &reason, row, first);
    ms_plan_free(own);
    return status;
}

/* One after another: each plan simulates on all processors. */
ms_status ms_device_rows_plan(ms_arena *arena, const ms_plan *plan, const ms_device_list *devices,
                              ms_runs_row *rows, ms_error *first, ms_error *err)
{
    for (uint32_t i = 0; i < devices->count; i++) {
        if (atomic_load_explicit(&plan->stop, memory_order_relaxed))
            return ms_fail(err, MS_ERR_STOPPED, "stopped after %" PRIu32 " of %" PRIu32 " devices",
                           i, devices->count);
        ms_status status = plan_one(arena, plan, devices->names[i], &rows[i], first, err);
        if (status != MS_OK)
            return status == MS_ERR_NOMEM ? no_memory(err) : status;
    }
    return MS_OK;
}
