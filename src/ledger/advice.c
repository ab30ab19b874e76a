/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ledger/advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "config/attention.h"
#include "ledger/change.h"

/* A change that applies, and what became of it. Tasks share nothing but what they read. */
typedef struct task {
    const ms_ledger *ledger;
    ms_run_config run;
    bool same_events;
    ms_suggestion suggestion;
    ms_status status;
    ms_error err;
} task;

enum { MAX_TASKS = 16 };

typedef struct task_list {
    task tasks[MAX_TASKS];
    uint32_t count;
} task_list;

static void judge(const ms_ledger *ledger, const ms_usage *usage, ms_suggestion *s)
{
    const ms_summary *now = &ledger->summary;
    uint64_t reserved_bytes = usage->peak_reserved_bytes > now->evaluation_reserved_bytes
                                  ? usage->peak_reserved_bytes
                                  : now->evaluation_reserved_bytes;
    const ms_device *device = ledger->run->device;
    s->device_bytes = ms_device_held_bytes(device, reserved_bytes, device->context_expected_bytes);
    s->saved_device_bytes = (int64_t)(now->expected_device_bytes - s->device_bytes);
    s->saved_peak_bytes = (int64_t)(now->peak_memory_bytes - usage->peak_bytes);
    s->fits =
        !usage->out_of_memory && (now->budget_bytes == 0 || s->device_bytes <= now->budget_bytes);
}

static ms_status measure(task *t, const ms_trace *trace, bool *repeats)
{
    ms_usage usage = {0};
    *repeats = true;
    ms_status status =
        t->run.detail == MS_STEPS_LEAN
            ? ms_usage_measure_lean(trace, &t->run.allocator, &usage, repeats, &t->err)
            : ms_usage_measure(trace, &t->run.allocator, &usage, &t->err);
    if (status != MS_OK)
        return status;
    judge(t->ledger, &usage, &t->suggestion);
    ms_usage_free(&usage);
    return MS_OK;
}

static ms_status simulate(task *t, bool *repeats)
{
    ms_simulation simulation = {0};
    ms_status status = ms_step_simulate(t->ledger->model, &t->run, &simulation, &t->err);
    if (status != MS_OK)
        return status;
    status = measure(t, &simulation.trace, repeats);
    ms_simulation_free(&simulation);
    return status;
}

static void work(void *context, uint32_t index)
{
    task *t = &((task_list *)context)->tasks[index];
    bool repeats;
    t->run.detail = t->same_events ? MS_STEPS_ALL : MS_STEPS_LEAN;
    t->status = t->same_events ? measure(t, &t->ledger->simulation->trace, &repeats)
                               : simulate(t, &repeats);
    if (t->status != MS_OK || repeats)
        return;
    t->run.detail = MS_STEPS_ALL;
    t->status = simulate(t, &repeats);
}

static bool add_task(task_list *list, const ms_ledger *ledger, const ms_change *c, ms_arena *arena)
{
    if (list->count == MAX_TASKS)
        return true;
    task *t = &list->tasks[list->count];
    *t = (task){.ledger = ledger, .run = *ledger->run, .same_events = c == &ms_allocator_change};
    t->suggestion.title = c->title;
    if (!c->apply(ledger->model, &t->run, arena, &t->suggestion.option) ||
        ms_attention_refusal(t->run.attention, ledger->model, &t->run))
        return true;
    list->count++;
    return t->suggestion.option != NULL;
}

/* The allocator's comes last: it is the shortest. */
static bool list_tasks(task_list *list, const ms_ledger *ledger, ms_arena *arena)
{
    for (size_t i = 0; ms_change_at(i); i++)
        if (!add_task(list, ledger, ms_change_at(i), arena))
            return false;
    return add_task(list, ledger, &ms_allocator_change, arena);
}

/* Beyond this a simulation takes so long that nobody waits for half a dozen of them. */
enum { MAX_EVENTS = 500000 };

static int by_saving(const void *a, const void *b)
{
    const ms_suggestion *x = a, *y = b;
    if (x->saved_device_bytes != y->saved_device_bytes)
        return x->saved_device_bytes > y->saved_device_bytes ? -1 : 1;
    return strcmp(x->title, y->title);
}

static ms_status keep_those_that_save(const task_list *list, ms_advice *advice, ms_error *err)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const task *t = &list->tasks[i];
        if (t->status == MS_ERR_CONFIG) /* without an operator that the run keeps */
            continue;
        if (t->status != MS_OK) {
            if (err && err->status == MS_OK)
                *err = t->err;
            return t->status;
        }
        if (t->suggestion.saved_device_bytes > 0 &&
            !ms_vec_push(&advice->suggestions, t->suggestion))
            return ms_fail(err, MS_ERR_NOMEM, "no memory for the suggestions");
    }
    if (advice->suggestions.count > 1)
        qsort(advice->suggestions.items, advice->suggestions.count,
              sizeof *advice->suggestions.items, by_saving);
    return MS_OK;
}

ms_status ms_advice_collect(const ms_ledger *ledger, ms_advice *advice, ms_error *err)
{
    memset(advice, 0, sizeof *advice);
    if (ledger->simulation->trace.events.count > MAX_EVENTS)
        return MS_OK;
    ms_status status;
    task_list *list = calloc(1, sizeof *list);
    advice->arena = ms_arena_create(0);
    if (list && advice->arena && list_tasks(list, ledger, advice->arena)) {
        ms_parallel_run(list->count, work, list);
        status = keep_those_that_save(list, advice, err);
    } else {
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for the suggestions");
    }
    free(list);
    if (status != MS_OK)
        ms_advice_free(advice);
    return status;
}

void ms_advice_free(ms_advice *advice)
{
    ms_vec_free(&advice->suggestions);
    ms_arena_free(advice->arena);
    advice->arena = NULL;
}
