/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/simulate/change.h"

#include <inttypes.h>
#include <string.h>

#include "base/threads.h"
#include "input/config/load/again.h"
#include "input/config/run/attention.h"
#include "run/simulate/ranks.h"

/* ---- variants ---- */

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

/* ---- change ---- */

/* Sharded weights have two types, and no autocast; nor have stages. */
static bool is_sharded(const ms_run_config *run)
{
    return ms_layout_shards(&run->parallel.layout) || ms_layout_has_stages(&run->parallel.layout);
}

static bool use_expandable(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool applies = run->allocator.kind == MS_ALLOCATOR_CUDA;
    run->allocator.kind = MS_ALLOCATOR_CUDA_EXPANDABLE;
    *option = "--allocator cuda-expandable";
    return applies;
}

static bool use_autocast(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool is_fp32 = run->upcast || run->dtype == MS_DTYPE_F32;
    bool applies = is_fp32 && run->autocast == MS_AUTOCAST_NONE && !is_sharded(run);
    bool uses_fp16 = run->dtype == MS_DTYPE_F16 || ms_device_before_ampere(run->device);
    run->autocast = uses_fp16 ? MS_AUTOCAST_F16 : MS_AUTOCAST_BF16;
    *option = uses_fp16 ? "--autocast fp16" : "--autocast bf16";
    return applies;
}

static bool skip_upcast(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool applies = run->upcast;
    run->upcast = false;
    *option = "--upcast no";
    return applies;
}

static bool use_fp16(ms_variation *v, const char **option)
{
    ms_run_config *run = &v->run;
    bool has_dtype = run->dtype == MS_DTYPE_BF16, casts = run->autocast == MS_AUTOCAST_BF16;
    if (has_dtype)
        ms_vary_dtype(v, MS_DTYPE_F16);
    if (casts)
        run->autocast = MS_AUTOCAST_F16;
    *option = has_dtype && casts ? "--dtype fp16 --autocast fp16"
              : casts            ? "--autocast fp16"
                                 : "--dtype fp16";
    return (has_dtype || casts) && !is_sharded(run);
}

/* Resolves the run again with these fields and values, NULL last, and sets the option that says the
 * same; false where they are refused. Out of memory: true, and no option. */
static bool set_again(ms_variation *v, const char *const *settings, const char **option)
{
    const ms_run_config before = v->run;
    ms_error err = {0};
    if (!before.draft)
        return false;
    ms_run_draft *draft = ms_arena_array(v->arena, ms_run_draft, 1);
    ms_status status = draft ? MS_OK : MS_ERR_NOMEM;
    if (draft)
        *draft = *before.draft;
    for (*option = ""; *settings && status == MS_OK; settings += 2)
        status = ms_run_change(draft, v->arena, settings[0], settings[1], option, &err);
    if (status == MS_OK)
        status = ms_run_resolve_again(v->arena, &before, draft, v->model, &v->run, &err);
    if (status == MS_ERR_NOMEM)
        *option = NULL;
    return status == MS_OK || status == MS_ERR_NOMEM;
}

/* Weights and optimizer states are in half precision because nothing was said of types. */
static bool is_half_unsaid(const ms_run_config *run)
{
    bool is_half = run->dtype == MS_DTYPE_F16 || run->dtype == MS_DTYPE_BF16;
    return is_half && !run->has_dtype && run->autocast == MS_AUTOCAST_NONE;
}

/* FSDP computes in another type by a policy of its own; DeepSpeed keeps fp32 weights as it is. */
static bool use_mixed(ms_variation *v, const char **option)
{
    const ms_run_config *run = &v->run;
    const ms_layout *layout = &run->parallel.layout;
    const bool is_f16 = run->dtype == MS_DTYPE_F16 || ms_device_before_ampere(run->device);
    const char *field = ms_layout_shards(layout) ? "param-dtype" : "autocast";
    const char *const settings[] = {"dtype", "fp32", field, is_f16 ? "fp16" : "bf16", NULL};
    return is_half_unsaid(run) && layout->kind != MS_PARALLEL_ZERO &&
           set_again(v, settings, option);
}

/* Layers that are checkpointed by the option alone. */
static bool keep_all_layers(ms_variation *v, const char **option)
{
    const ms_run_config *run = &v->run;
    return run->checkpointing && strcmp(run->checkpointing, "none") != 0 && !*run->treat &&
           set_again(v, (const char *const[]){"checkpointing", "none", NULL}, option);
}

/* FSDP2 over as many ranks, of a packed base in the form that it divides. */
static bool divide_packed(ms_variation *v, const char **option)
{
    const ms_run_config *run = &v->run;
    ms_quantization q = run->quantization;
    q.has_storage_dtype = true;
    q.storage_dtype = run->dtype;
    const char *const settings[] = {
        "parallel",    ms_arena_printf(v->arena, "fsdp=%" PRIu64, run->parallel.layout.shards),
        "param-dtype", ms_dtype_info_of(run->dtype)->short_name,
        "quantize",    ms_quantization_text(v->arena, &q),
        NULL};
    return set_again(v, settings, option);
}

/* prepare_model_for_kbit_training(model) enables checkpoints unless it is told not to. Trainers'
 * files say which. */
bool ms_lacks_checkpoints_of_peft(const ms_run_config *run)
{
    static const char *const decided[] = {"checkpointing", "treat", "plan", "training-args"};
    if (!run->adapter || !run->upcast || !ms_is_packed(&run->quantization) || !run->draft)
        return false;
    for (size_t i = 0; i < sizeof decided / sizeof *decided; i++)
        if (ms_run_field_is_set(run->draft, decided[i]))
            return false;
    return true;
}

static bool checkpoint_as_peft(ms_variation *v, const char **option)
{
    return ms_lacks_checkpoints_of_peft(&v->run) &&
           set_again(v, (const char *const[]){"checkpointing", "all", NULL}, option);
}

static bool go_to_other_end(ms_variation *v, const char **option)
{
    return v->run.other_end && set_again(v, v->run.other_end, option);
}

static bool pad_batches(ms_variation *v, const char **option)
{
    return set_again(v, (const char *const[]){"padding", "yes", NULL}, option);
}

const ms_change ms_allocator_change = {"expandable segments", true, use_expandable};
const ms_change ms_other_end_change = {"the other end", false, go_to_other_end};
const ms_change ms_autocast_change = {"autocast", false, use_autocast};
const ms_change ms_upcast_change = {"no weights in fp32", false, skip_upcast};
const ms_change ms_half_change = {"fp16", false, use_fp16};
const ms_change ms_mixed_change = {"fp32 weights", false, use_mixed};
const ms_change ms_divide_change = {"FSDP2", false, divide_packed};
const ms_change ms_peft_change = {"PEFT's checkpoints", false, checkpoint_as_peft};
const ms_change ms_padding_change = {"padded batches", false, pad_batches};
const ms_change ms_keep_change = {"no checkpoints", false, keep_all_layers};

bool ms_vary_by(ms_variation *v, const ms_change *change, const char **option)
{
    return change->apply(v, option) && !ms_attention_refusal(v->run.attention, v->model, &v->run);
}
