/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/simulate/judge.h"

#include "base/size.h"

/* What does not fit at all comes first; of what is tight, what was seen before what may be. */
static ms_fit_reason reason_of(const ms_judgement *j, bool out_of_memory, bool retries)
{
    if (j->budget_bytes > 0 && j->device_bytes.expected > j->budget_bytes)
        return MS_FIT_OVER_BUDGET;
    if (out_of_memory)
        return MS_FIT_NO_ROOM;
    if (retries)
        return MS_FIT_RETRIES;
    if (j->budget_bytes == 0)
        return MS_FIT_NO_BUDGET;
    return j->device_bytes.high > j->budget_bytes ? MS_FIT_UPPER_END : MS_FIT_WITHIN_BUDGET;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Where the cache is emptied between steps, the first may take more than the steady one. */
ms_job_most ms_job_most_of(const ms_usage *usage, const ms_usage *evaluation)
{
    ms_job_most job = {most(usage->most_bytes, usage->peak_bytes),
                       most(usage->most_reserved_bytes, usage->peak_reserved_bytes)};
    if (evaluation) {
        job.bytes = most(job.bytes, evaluation->peak_bytes);
        job.reserved_bytes = most(job.reserved_bytes, evaluation->peak_reserved_bytes);
    }
    return job;
}

ms_judgement ms_judge(const ms_model_config *model, const ms_run_config *run, const ms_usage *usage,
                      const ms_usage *evaluation)
{
    uint64_t reserved_bytes = ms_job_most_of(usage, evaluation).reserved_bytes;
    bool out_of_memory = usage->out_of_memory, retries = usage->retries > 0;
    if (evaluation) {
        out_of_memory = out_of_memory || evaluation->out_of_memory;
        retries = retries || evaluation->retries > 0;
    }
    ms_judgement j = {.budget_bytes = run->budget_bytes,
                      .device_bytes = ms_budget_device_bytes(run->device, reserved_bytes)};
    ms_device_bytes slow = ms_budget_device_bytes(run->device, usage->slow_reserved_bytes);
    if (slow.high > j.device_bytes.high)
        j.device_bytes.high = slow.high;
    j.device_bytes.high += ms_budget_nccl_bytes(run);
    if (model)
        j.device_bytes.high = ms_size_capped(ms_size_add(
            ms_size_of(j.device_bytes.high), ms_read_keys_most_bytes(&run->keys, model, run)));
    j.reason = reason_of(&j, out_of_memory, retries);
    return j;
}
