/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/advise/candidate.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/adapter/adapter.h"
#include "input/config/model/model_config.h"
#include "input/config/run/attention.h"
#include "input/config/run/liger.h"
#include "input/config/run/run_config.h"
#include "input/config/treatment/technique.h"

/* ---- kept ---- */

ms_kept ms_kept_of(const ms_run_config *run, const ms_simulation *s)
{
    const ms_training *training = &run->training;
    ms_kept kept = {.weight_bytes = s->weight_bytes};
    if (run->parallel.layout.kind != MS_PARALLEL_NONE)
        return kept;
    if (training->optimizer_device == MS_OPTIMIZER_ON_DEVICE)
        kept.state_bytes = s->optimizer_state_bytes;
    if (!training->optimizer_in_backward && run->parameter_device == MS_PARAMETERS_ON_DEVICE)
        kept.gradient_bytes = s->gradient_bytes;
    return kept;
}

bool ms_kept_exceeds(const ms_run_config *run, uint64_t kept_bytes)
{
    uint64_t capacity = ms_budget_capacity(run->device, run->budget_bytes);
    return capacity && kept_bytes > capacity;
}

/* ---- candidate ---- */

const char *const ms_advice_cost_names[] = {"none", "time", "rounding", "result", "device", NULL};

/* ---- when they apply ---- */

static bool is_adamw(const ms_run_config *run)
{
    return run->training.optimizer == MS_OPTIMIZER_ADAMW ||
           run->training.optimizer == MS_OPTIMIZER_ADAMW_32BIT;
}

static bool is_full(const ms_run_config *run)
{
    return !run->adapter && !ms_is_packed(&run->quantization);
}

/* Sharded weights have two types, and no autocast; nor have stages. */
static bool is_sharded(const ms_run_config *run)
{
    return ms_layout_shards(&run->parallel.layout) || ms_layout_has_stages(&run->parallel.layout);
}

static bool may_expand(const ms_job *job)
{
    return job->run->allocator.kind == MS_ALLOCATOR_CUDA;
}

static bool may_fuse(const ms_job *job)
{
    const ms_training *t = &job->run->training;
    return t->optimizer_impl != MS_OPTIMIZER_FUSED &&
           ms_optimizer_has(t->optimizer, MS_OPTIMIZER_FUSED);
}

static bool is_quadratic(const ms_job *job)
{
    return job->run->attention == MS_ATTENTION_MATH || job->run->attention == MS_ATTENTION_EAGER;
}

static bool may_use_liger(const ms_job *job)
{
    const ms_liger_family *family = ms_liger_family_of(job->model);
    return family && !job->run->device->is_cpu && (family->kernels & ~job->run->liger);
}

static bool may_step_in_backward(const ms_job *job)
{
    return !job->run->training.optimizer_in_backward && !job->run->device->is_cpu;
}

static bool may_chunk(const ms_job *job)
{
    return job->run->treatments.loss_chunks <= 1 && job->model->head == MS_HEAD_CAUSAL_LM;
}

static bool has_more_than_two(const ms_job *job)
{
    return job->run->batch > 2;
}

static bool has_even_batch(const ms_job *job)
{
    return job->run->batch % 2 == 0;
}

static bool keeps_a_layer(const ms_job *job)
{
    const ms_run_config *run = job->run;
    bool keeps = false;
    for (uint64_t i = 0; i < job->model->num_layers && !keeps; i++)
        keeps = run->treatments.layers[i].kind == MS_TREAT_KEEP;
    return keeps && (ms_parallel_techniques(&run->parallel) & MS_MAY_CHECKPOINT);
}

/* A layer's own treatment would win over the option. */
static bool may_checkpoint(const ms_job *job)
{
    const char *treat = job->run->treat;
    return keeps_a_layer(job) && !(treat && strchr(treat, '=') && strncmp(treat, "loss=", 5) != 0);
}

static bool may_select(const ms_job *job)
{
    return may_checkpoint(job) && ms_attention_choose(job->model, job->run) == MS_ATTENTION_FLASH &&
           (ms_parallel_techniques(&job->run->parallel) & MS_MAY_SELECT);
}

static bool may_move_optimizer(const ms_job *job)
{
    return ms_optimizer_may_move(job->run);
}

static bool may_move_parameters(const ms_job *job)
{
    return ms_parameters_may_move(job->run);
}

static bool is_fp32(const ms_job *job)
{
    return job->run->dtype == MS_DTYPE_F32 && !is_sharded(job->run) &&
           !ms_device_before_ampere(job->run->device) && !job->run->device->is_cpu;
}

static bool has_states_in_32_bits(const ms_job *job)
{
    return is_adamw(job->run) && !job->run->device->is_cpu;
}

static bool has_states_on_device(const ms_job *job)
{
    ms_optimizer_kind kind = job->run->training.optimizer;
    return has_states_in_32_bits(job) || kind == MS_OPTIMIZER_ADAMW_8BIT ||
           kind == MS_OPTIMIZER_PAGED_ADAMW;
}

static bool trains_all(const ms_job *job)
{
    return is_full(job->run);
}

static bool trains_all_on_gpu(const ms_job *job)
{
    return is_full(job->run) && !job->run->device->is_cpu;
}

static bool has_wide_base(const ms_job *job)
{
    return job->run->adapter && !ms_is_packed(&job->run->quantization) && !job->run->device->is_cpu;
}

static bool has_two_states(const ms_job *job)
{
    return is_adamw(job->run) || job->run->training.optimizer == MS_OPTIMIZER_ADAM;
}

/* Each rank holds all weights: as the optimizer has them, an adapter's in another type than the
 * base, or beside the fp32 copies that DeepSpeed keeps. */
static bool is_replicated(const ms_job *job)
{
    return job->run->parallel.layout.kind == MS_PARALLEL_DDP && !job->run->adapter;
}

static bool has_replicated_adapter(const ms_job *job)
{
    return job->run->parallel.layout.kind == MS_PARALLEL_DDP && job->run->adapter;
}

static bool has_lower_stage(const ms_job *job)
{
    const ms_layout *layout = &job->run->parallel.layout;
    return layout->kind == MS_PARALLEL_ZERO && layout->stage < 3;
}

static bool has_tokens(const ms_job *job)
{
    return job->model->image_tokens == 0 && job->run->seq_tokens >= 4 &&
           ms_layout_splits(&job->run->parallel.layout, job->run->seq_tokens / 2);
}

/* ---- values ---- */

static const char *half_batch(const ms_job *job, ms_arena *arena)
{
    return ms_arena_printf(arena, "%" PRIu64, job->run->batch / 2);
}

static const char *twice_the_steps(const ms_job *job, ms_arena *arena)
{
    return ms_arena_printf(arena, "%" PRIu64, job->run->training.accumulate * 2);
}

static const char *a_step_each(const ms_job *job, ms_arena *arena)
{
    return ms_arena_printf(arena, "%" PRIu64, job->run->training.accumulate * job->run->batch);
}

static const char *half_sequence(const ms_job *job, ms_arena *arena)
{
    const uint64_t joined = job->run->joined ? job->run->joined : 1; /* of the option each has it */
    return ms_arena_printf(arena, "%" PRIu64, job->run->seq_tokens / joined / 2);
}

static const char *host_optimizer(const ms_job *job, ms_arena *arena)
{
    (void)arena;
    return job->run->training.optimizer_device == MS_OPTIMIZER_ON_HOST ? "" : "host";
}

static const char *shards(const ms_job *job, ms_arena *arena)
{
    return ms_arena_printf(arena, "fsdp=%" PRIu64, ms_layout_world(&job->run->parallel.layout));
}

static const char *third_stage(const ms_job *job, ms_arena *arena)
{
    return ms_arena_printf(arena, "zero=3,dp=%" PRIu64,
                           ms_layout_world(&job->run->parallel.layout));
}

/* The targets are PEFT's, if it has any for the model. */
static const char *small_adapter(const ms_job *job, ms_arena *arena)
{
    const char *targets = ms_adapter_usual_targets(job->model->family);
    return targets ? ms_arena_printf(arena, "r=16,targets=%s", targets) : "r=16";
}

/* Where another was asked for that the new optimizer lacks. */
static const char *fused(const ms_job *job, ms_arena *arena)
{
    (void)arena;
    return job->run->training.optimizer_impl == MS_OPTIMIZER_FUSED ? "" : "fused";
}

/* PEFT widens what is not packed, so the libraries train under autocast. */
static const char *half_autocast(const ms_job *job, ms_arena *arena)
{
    (void)arena;
    const ms_run_config *run = job->run;
    bool uses_fp16 = run->dtype == MS_DTYPE_F16 || ms_device_before_ampere(run->device);
    return run->autocast != MS_AUTOCAST_NONE || is_sharded(run) ? "" : uses_fp16 ? "fp16" : "bf16";
}

static const char *no_autocast(const ms_job *job, ms_arena *arena)
{
    (void)arena;
    return job->run->autocast == MS_AUTOCAST_NONE ? "" : "none";
}

/* ---- the rows ---- */

enum {
    PLAIN = 0,
    RESORT = MS_IS_LAST_RESORT,
    LIBRARY = MS_IS_LIBRARY,
    VARIANT = MS_IS_VARIANT,
    ALLOCATOR = MS_IS_ALLOCATOR,
    GRADIENTS = MS_IS_OF_GRADIENTS,
    STATES = MS_IS_OF_STATES,
    KEPT = MS_IS_OF_KEPT,
    FIRST = MS_IS_FIRST
};

#define ROW(row_title, row_cost, row_changes, flags, row_applies, ...)                             \
    {                                                                                              \
        .title = (row_title), .cost = MS_COST_##row_cost, .changes = (row_changes),                \
        .traits = (flags), .applies = (row_applies), .settings = {                                 \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define SET(field, value)                                                                          \
    {                                                                                              \
        (field), (value), NULL                                                                     \
    }
#define MAKE(field, make)                                                                          \
    {                                                                                              \
        (field), NULL, (make)                                                                      \
    }

static const ms_candidate rows[] = {
    ROW("flash attention", FREE, NULL, PLAIN, is_quadratic, SET("attention", "flash")),
    ROW("a fused optimizer", FREE, NULL, PLAIN, may_fuse, SET("optimizer-impl", "fused")),
    ROW("expandable segments", FREE, NULL, ALLOCATOR, may_expand,
        SET("allocator", "cuda-expandable")),
    ROW("Liger's kernels", FREE, NULL, LIBRARY, may_use_liger, SET("liger", "all")),
    ROW("optimizer in backward", FREE, NULL, GRADIENTS | FIRST, may_step_in_backward,
        SET("optimizer-in-backward", "yes")),

    ROW("the loss in chunks", TIME, NULL, PLAIN, may_chunk, SET("treat", "loss=chunk:8")),
    ROW("half the micro-batch, twice as often", TIME, NULL, PLAIN, has_even_batch,
        MAKE("batch", half_batch), MAKE("accumulate", twice_the_steps)),
    ROW("micro-batches of one sequence", TIME, NULL, PLAIN, has_more_than_two, SET("batch", "1"),
        MAKE("accumulate", a_step_each)),
    ROW("checkpoints that keep attention", TIME, NULL, VARIANT, may_select,
        SET("checkpointing", "none"), SET("treat", "all=selective:flash_attention")),
    ROW("checkpoint every layer", TIME, NULL, FIRST, may_checkpoint, SET("checkpointing", "all")),
    ROW("ZeRO-3 on the same GPUs", TIME, NULL, KEPT | FIRST, has_lower_stage,
        MAKE("parallel", third_stage)),
    ROW("FSDP2 on the same GPUs", TIME, NULL, KEPT | FIRST, is_replicated,
        MAKE("parallel", shards)),
    ROW("optimizer states on the host", TIME, NULL, RESORT | STATES, may_move_optimizer,
        SET("optimizer-device", "host")),
    ROW("optimizer and parameters on the host", TIME, NULL, RESORT | KEPT, may_move_parameters,
        MAKE("optimizer-device", host_optimizer), SET("parameter-device", "host")),

    ROW("8-bit AdamW", ROUNDING, "optimizer states in 8 bits", LIBRARY | STATES,
        has_states_in_32_bits, SET("optimizer", "adamw-8bit"), MAKE("optimizer-impl", fused)),
    ROW("paged 8-bit AdamW", ROUNDING, "optimizer states in 8 bits", LIBRARY | STATES | FIRST,
        has_states_on_device, SET("optimizer", "paged-adamw-8bit"), MAKE("optimizer-impl", fused)),
    ROW("FSDP2 on the same GPUs", ROUNDING, "the adapter computes in bf16", KEPT | FIRST,
        has_replicated_adapter, MAKE("parallel", shards), SET("param-dtype", "bf16")),
    ROW("FSDP2 on the same GPUs", ROUNDING, "no fp32 copies of the weights", KEPT | FIRST,
        has_lower_stage, MAKE("parallel", shards)),
    ROW("bf16 weights without autocast", ROUNDING, "weights and updates in bf16", KEPT, is_fp32,
        SET("dtype", "bf16"), MAKE("autocast", no_autocast)),

    ROW("LoRA", RESULT, "trains an adapter of rank 16", LIBRARY | KEPT | FIRST, trains_all,
        MAKE("lora", small_adapter)),
    ROW("QLoRA", RESULT, "trains an adapter of rank 16 on a base in 4 bits", LIBRARY | KEPT,
        trains_all_on_gpu, MAKE("lora", small_adapter), SET("quantize", "nf4:double"),
        MAKE("autocast", half_autocast)),
    ROW("a base in 4 bits", RESULT, "a base in 4 bits", LIBRARY | KEPT, has_wide_base,
        SET("quantize", "nf4:double"), MAKE("autocast", half_autocast)),
    ROW("SGD with momentum", RESULT, "another optimizer", STATES, has_two_states,
        SET("optimizer", "sgd-momentum")),
    ROW("half the sequence length", RESULT, "half the tokens", PLAIN, has_tokens,
        MAKE("seq", half_sequence)),
};

enum { ROWS = sizeof rows / sizeof rows[0] };

_Static_assert((int)ROWS <= (int)MS_MOST_CANDIDATES, "a candidate has no bit");

const ms_candidate *ms_candidate_at(uint32_t index)
{
    return index < ROWS ? &rows[index] : NULL;
}

bool ms_candidates_exclude(const ms_candidate *a, const ms_candidate *b)
{
    for (int i = 0; i < MS_CANDIDATE_SETTINGS && a->settings[i].field; i++)
        for (int k = 0; k < MS_CANDIDATE_SETTINGS && b->settings[k].field; k++)
            if (strcmp(a->settings[i].field, b->settings[k].field) == 0 &&
                strcmp(a->settings[i].field, "treat") != 0)
                return true;
    return false;
}
