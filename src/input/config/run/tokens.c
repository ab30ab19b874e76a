/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/tokens.h"

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
