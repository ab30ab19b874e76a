/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/simulate/variants.h"

#include "base/threads.h"
#include "run/simulate/ranks.h"

static ms_status simulate(ms_variant *v, const ms_variation *variation, ms_simulated *simulated)
{
    const ms_job job = ms_variation_job(variation);
    if (!v->change->is_of_allocator || job.run->parallel.rank != v->base->job.run->parallel.rank)
        return ms_simulate(&job, MS_SIMULATE_USAGE, simulated, &v->err);
    *simulated = ms_simulated_lend(v->base);
    return ms_simulate_again(simulated, job.run, &v->err);
}

/* As the rank that needs most of the variant. */
static ms_status measure_in(ms_variant *v, ms_arena *arena)
{
    ms_simulated simulated;
    ms_variation variation = v->variation;
    ms_status status = ms_ranks_settle(arena, variation.model, &variation.run, &v->err);
    if (variation.run.parallel.rank != v->base->job.run->parallel.rank)
        variation.evaluation = NULL; /* of another rank */
    if (status == MS_OK)
        status = simulate(v, &variation, &simulated);
    if (status != MS_OK)
        return status;
    v->device_bytes = simulated.judgement.device_bytes.expected;
    v->peak_bytes = simulated.usage.peak_bytes;
    v->retries = simulated.usage.retries;
    v->retry_ms = ms_usage_retry_ms(&simulated.usage);
    v->reason = simulated.judgement.reason;
    ms_simulated_free(&simulated);
    return MS_OK;
}

static void measure(ms_variant *v)
{
    ms_arena *arena = ms_arena_create(0);
    v->status = MS_ERR_NOMEM;
    if (arena)
        v->status = measure_in(v, arena);
    ms_arena_free(arena);
}

typedef struct tasks {
    ms_variants *variants;
    void (*beside)(void *context);
    void *context;
} tasks;

static void work(void *context, uint32_t index)
{
    const tasks *t = context;
    if (index == 0)
        t->beside(t->context);
    else
        measure(&t->variants->items[index - 1]);
}

void ms_variants_measure(ms_variants *variants, void (*beside)(void *context), void *context)
{
    tasks t = {variants, beside, context};
    ms_threads_run(variants->count + 1, work, &t);
}

const ms_variant *ms_variants_find(const ms_variants *variants, const ms_change *change)
{
    for (uint32_t i = 0; i < variants->count; i++)
        if (variants->items[i].change == change)
            return &variants->items[i];
    return NULL;
}

bool ms_variants_add(ms_variants *variants, const ms_simulated *base, const ms_change *change,
                     ms_arena *arena)
{
    if (variants->count == MS_MOST_VARIANTS || ms_variants_find(variants, change))
        return true;
    ms_variant *v = &variants->items[variants->count];
    *v = (ms_variant){.base = base, .change = change, .variation = ms_vary(&base->job, arena)};
    v->variation.evaluation = ms_simulated_evaluation(base);
    if (!ms_vary_by(&v->variation, change, &v->option))
        return true;
    variants->count++;
    return v->option != NULL;
}

int64_t ms_variant_saved_bytes(const ms_variant *variant)
{
    return (int64_t)(variant->base->summary.expected_device_bytes - variant->device_bytes);
}
