/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ledger/advice.h"

#include <stdlib.h>
#include <string.h>

#include "simulate/variants.h"

/* The allocator's comes last: it is the shortest. */
static bool list_variants(ms_variants *list, const ms_ledger *ledger, ms_arena *arena)
{
    for (size_t i = 0; ms_change_at(i); i++)
        if (!ms_variants_add(list, ledger->simulated, ms_change_at(i), arena))
            return false;
    return ms_findings_add_variants(list, ledger, arena) &&
           ms_variants_add(list, ledger->simulated, &ms_allocator_change, arena);
}

/* Beyond this a simulation takes too long to wait for half a dozen of them. */
enum { MAX_EVENTS = 500000 };

static int by_saving(const void *a, const void *b)
{
    const ms_suggestion *x = a, *y = b;
    if (x->saved_device_bytes != y->saved_device_bytes)
        return x->saved_device_bytes > y->saved_device_bytes ? -1 : 1;
    return strcmp(x->title, y->title);
}

/* Some variants are there for findings alone. */
static bool is_suggestion(const ms_change *change)
{
    size_t i = 0;
    while (ms_change_at(i) && ms_change_at(i) != change)
        i++;
    return ms_change_at(i) || change == &ms_allocator_change;
}

static bool push_suggestion(ms_advice *advice, const ms_variant *v)
{
    const ms_suggestion suggestion = {
        .title = v->change->title,
        .option = v->option,
        .device_bytes = v->device_bytes,
        .saved_device_bytes = ms_variant_saved_bytes(v),
        .saved_peak_bytes = (int64_t)(v->base->summary.peak_memory_bytes - v->peak_bytes),
        .reason = v->reason,
    };
    return suggestion.saved_device_bytes <= 0 || ms_vec_push(&advice->suggestions, suggestion);
}

static ms_status keep_those_that_save(const ms_variants *list, ms_advice *advice, ms_error *err)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const ms_variant *v = &list->items[i];
        if (v->status == MS_ERR_CONFIG) /* without an operator that the run keeps */
            continue;
        if (v->status != MS_OK) {
            if (err && err->status == MS_OK)
                *err = v->err;
            return v->status;
        }
        if (is_suggestion(v->change) && !push_suggestion(advice, v))
            return ms_fail(err, MS_ERR_NOMEM, "no memory for the suggestions");
    }
    if (advice->suggestions.count > 1)
        qsort(advice->suggestions.items, advice->suggestions.count,
              sizeof *advice->suggestions.items, by_saving);
    return MS_OK;
}

/* The run on one device, while the variants run. */
typedef struct comparison {
    const ms_ledger *ledger;
    ms_advice *advice;
    ms_status status;
    ms_error err;
} comparison;

static void compare(void *context)
{
    comparison *c = context;
    c->status = ms_one_device_simulate(&c->ledger->simulated->job, c->advice->arena,
                                       &c->advice->one_device, &c->err);
}

ms_status ms_advice_collect(const ms_ledger *ledger, ms_advice *advice, ms_error *err)
{
    memset(advice, 0, sizeof *advice);
    if (ledger->simulation->trace.events.count > MAX_EVENTS)
        return MS_OK;
    ms_status status;
    ms_variants *list = calloc(1, sizeof *list);
    advice->arena = ms_arena_create(0);
    if (list && advice->arena && list_variants(list, ledger, advice->arena)) {
        comparison c = {.ledger = ledger, .advice = advice};
        ms_variants_measure(list, compare, &c);
        status = keep_those_that_save(list, advice, err);
        if (status == MS_OK)
            status = ms_findings_collect(ledger, list, advice->arena, &advice->findings, err);
        if (status == MS_OK)
            status = c.status;
        if (status == c.status && status != MS_OK && err)
            *err = c.err;
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
    ms_vec_free(&advice->findings);
    ms_arena_free(advice->arena);
    advice->arena = NULL;
}
