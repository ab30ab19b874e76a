/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/run_config.h"

#include <stddef.h>

/* ---- budget ---- */

ms_device_bytes ms_budget_device_bytes(const ms_device *d, uint64_t reserved_bytes)
{
    return (ms_device_bytes){
        .low = ms_device_used_bytes(d, reserved_bytes, d->context_low_bytes),
        .expected = ms_device_used_bytes(d, reserved_bytes, d->context_expected_bytes),
        .high = ms_device_used_bytes(d, reserved_bytes, d->context_high_bytes)};
}

uint32_t ms_communicators_of(const ms_layout *layout)
{
    if (layout->kind == MS_PARALLEL_NONE)
        return 0;
    return (uint32_t)(layout->shards > 1) + (uint32_t)(layout->copies > 1) +
           (uint32_t)(layout->tensor > 1) + (uint32_t)(layout->context > 1);
}

uint64_t ms_budget_nccl_bytes(const ms_run_config *run)
{
    static const uint64_t communicator_bytes = 688000000;
    return run->device->is_cpu ? 0
                               : ms_communicators_of(&run->parallel.layout) * communicator_bytes;
}

uint64_t ms_budget_capacity(const ms_device *device, uint64_t budget_bytes)
{
    if (budget_bytes == 0)
        return 0;
    uint64_t bytes = ms_device_reservable_bytes(device, budget_bytes);
    return bytes > 0 ? bytes : 1;
}

void ms_budget_set(ms_run_config *run, uint64_t budget_bytes)
{
    run->budget_bytes = budget_bytes;
    if (run->allocator.kind != MS_ALLOCATOR_RAW)
        run->allocator.capacity_bytes = ms_budget_capacity(run->device, budget_bytes);
}

void ms_budget_lift(ms_run_config *run)
{
    run->allocator.capacity_bytes = 0;
}

/* ---- tokens ---- */

uint64_t ms_run_tokens(const ms_run_config *run)
{
    uint64_t tokens;
    bool overflow = __builtin_mul_overflow(run->batch, run->seq_tokens, &tokens);
    overflow = __builtin_mul_overflow(tokens, run->training.accumulate, &tokens) || overflow;
    overflow = __builtin_mul_overflow(tokens, ms_layout_replicas(&run->parallel.layout), &tokens) ||
               overflow;
    return overflow ? 0 : tokens;
}

uint64_t ms_run_most_labels(const ms_run_config *run)
{
    const uint64_t first = run->documents ? run->documents : 1;
    uint64_t labels;
    bool overflow = __builtin_mul_overflow(run->batch, run->seq_tokens - first, &labels);
    return overflow || first >= run->seq_tokens ? 0 : labels;
}

uint64_t ms_run_labels(const ms_run_config *run)
{
    return run->training.labels ? run->training.labels : ms_run_most_labels(run);
}

double ms_run_tokens_per_s(const ms_run_config *run, double step_ms)
{
    return step_ms > 0 ? (double)ms_run_tokens(run) / step_ms * 1e3 : 0;
}

double ms_run_tokens_per_s_per_gpu(const ms_run_config *run, double step_ms)
{
    return ms_run_tokens_per_s(run, step_ms) / (double)ms_layout_world(&run->parallel.layout);
}

/* ---- run config ---- */

const char *const ms_autocast_names[] = {
    [MS_AUTOCAST_NONE] = "none",
    [MS_AUTOCAST_BF16] = "bf16",
    [MS_AUTOCAST_F16] = "fp16",
    NULL,
};

const char *const ms_accumulation_names[] = {
    [MS_ACCUMULATE_SAME] = "same",
    [MS_ACCUMULATE_F32] = "fp32",
    NULL,
};

const char *const ms_checkpoint_kind_names[] = {
    [MS_CHECKPOINT_NON_REENTRANT] = "non-reentrant",
    [MS_CHECKPOINT_REENTRANT] = "reentrant",
    NULL,
};

const char *const ms_padding_names[] = {
    [MS_PADDING_NO] = "no",
    [MS_PADDING_ONES] = "ones",
    [MS_PADDING_YES] = "yes",
    [MS_PADDING_UNKNOWN] = "unknown",
    NULL,
};

const char *const ms_loss_names[] = {
    [MS_LOSS_MODEL] = "model",
    [MS_LOSS_TRL] = "trl",
    [MS_LOSS_CUT] = "cut-cross-entropy",
    [MS_LOSS_TORCHTUNE] = "torchtune",
    NULL,
};

const char *const ms_loop_names[] = {
    [MS_LOOP_FIXED] = "fixed",
    [MS_LOOP_LOADER] = "loader",
    [MS_LOOP_TRAINER] = "trainer",
    NULL,
};

const char *const ms_place_names[] = {
    [MS_OPTIMIZER_ON_DEVICE] = "device",
    [MS_OPTIMIZER_ON_HOST] = "host",
    NULL,
};

_Static_assert((int)MS_OPTIMIZER_ON_HOST == (int)MS_PARAMETERS_ON_HOST, "one list for both");
