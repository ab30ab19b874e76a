/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ledger/advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "config/attention.h"

/* Changes `run` (a copy) and writes the option that does the same; false when it does not apply. */
typedef bool (*change_function)(const ms_model_config *model, ms_run_config *run, ms_arena *arena,
                                const char **option);

typedef struct change {
    const char *title;
    change_function apply;
} change;

static bool checkpoint_all(const ms_model_config *model, ms_run_config *run, ms_arena *arena,
                           const char **option)
{
    ms_treatment *layers = ms_arena_array(arena, ms_treatment, model->num_layers);
    uint64_t added = 0;
    if (run->treat && *run->treat) /* it would win over the option */
        return false;
    for (uint64_t i = 0; layers && i < model->num_layers; i++) {
        layers[i] = run->treatments.layers[i];
        added += layers[i].kind == MS_TREAT_KEEP;
        if (layers[i].kind == MS_TREAT_KEEP)
            layers[i].kind = MS_TREAT_CHECKPOINT;
    }
    run->treatments.layers = layers;
    run->checkpointing = "all";
    *option = layers ? "--checkpointing all" : NULL;
    return !layers || added > 0;
}

static bool halve_batch(const ms_model_config *model, ms_run_config *run, ms_arena *arena,
                        const char **option)
{
    (void)model;
    run->batch /= 2;
    *option = ms_arena_printf(arena, "--batch %" PRIu64, run->batch);
    return run->batch > 0;
}

static bool halve_sequence(const ms_model_config *model, ms_run_config *run, ms_arena *arena,
                           const char **option)
{
    (void)model;
    run->seq_tokens /= 2;
    *option = ms_arena_printf(arena, "--seq %" PRIu64, run->seq_tokens);
    return run->batch == 1 && run->seq_tokens > 0;
}

static bool fuse_optimizer(const ms_model_config *model, ms_run_config *run, ms_arena *arena,
                           const char **option)
{
    (void)model, (void)arena;
    bool applies = run->optimizer_impl != MS_OPTIMIZER_FUSED;
    run->optimizer_impl = MS_OPTIMIZER_FUSED;
    *option = "--optimizer-impl fused";
    return applies;
}

static bool use_momentum(const ms_model_config *model, ms_run_config *run, ms_arena *arena,
                         const char **option)
{
    (void)model, (void)arena;
    bool applies = run->optimizer == MS_OPTIMIZER_ADAMW || run->optimizer == MS_OPTIMIZER_ADAM;
    run->optimizer = MS_OPTIMIZER_SGD_MOMENTUM;
    *option = "--optimizer sgd-momentum";
    return applies;
}

static bool use_bf16(const ms_model_config *model, ms_run_config *run, ms_arena *arena,
                     const char **option)
{
    (void)model, (void)arena;
    bool applies = run->dtype == MS_DTYPE_F32;
    run->dtype = MS_DTYPE_BF16;
    run->autocast = MS_AUTOCAST_NONE;
    *option = "--dtype bf16 --autocast none";
    return applies;
}

static bool use_flash(const ms_model_config *model, ms_run_config *run, ms_arena *arena,
                      const char **option)
{
    (void)model, (void)arena;
    bool quadratic = run->attention == MS_ATTENTION_MATH || run->attention == MS_ATTENTION_EAGER;
    run->attention = MS_ATTENTION_FLASH;
    *option = "--attention flash";
    return quadratic;
}

static bool use_expandable(const ms_model_config *model, ms_run_config *run, ms_arena *arena,
                           const char **option)
{
    (void)model, (void)arena;
    bool applies = run->allocator.kind == MS_ALLOCATOR_CUDA;
    run->allocator.kind = MS_ALLOCATOR_CUDA_EXPANDABLE;
    *option = "--allocator cuda-expandable";
    return applies;
}

static const change changes[] = {
    {"checkpoint every layer", checkpoint_all},
    {"half the batch", halve_batch},
    {"half the sequence length", halve_sequence},
    {"a fused optimizer", fuse_optimizer},
    {"SGD with momentum", use_momentum},
    {"bf16 weights without autocast", use_bf16},
    {"flash attention", use_flash},
};

/* Needs no new simulation: the same events, another allocator. */
static const change allocator_change = {"expandable segments", use_expandable};

/* A change that applies, and what became of it. Tasks share nothing but what they read. */
typedef struct task {
    const ms_ledger *ledger;
    ms_run_config run;
    bool same_events;
    ms_suggestion suggestion;
    ms_status status;
    ms_error err;
} task;

enum { MAX_TASKS = sizeof changes / sizeof changes[0] + 1 };

typedef struct task_list {
    task tasks[MAX_TASKS];
    uint32_t count;
} task_list;

static void judge(const ms_ledger *ledger, const ms_usage *usage, ms_suggestion *s)
{
    const ms_summary *now = &ledger->summary;
    s->device_bytes = usage->peak_reserved_bytes + ledger->run->device->context_expected_bytes;
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

static bool add_task(task_list *list, const ms_ledger *ledger, const change *c, ms_arena *arena)
{
    task *t = &list->tasks[list->count];
    *t = (task){.ledger = ledger, .run = *ledger->run, .same_events = c == &allocator_change};
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
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        if (!add_task(list, ledger, &changes[i], arena))
            return false;
    return add_task(list, ledger, &allocator_change, arena);
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
