/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/summary.h"

#include "core/trace/words.h"
#include "report/view/fit_words.h"

#define ROW(member, ...) MS_MEMBER(ms_summary, #member, member, __VA_ARGS__)
#define PLAIN(member) MS_MEMBER(ms_summary, #member, member)
#define TITLED(member, shown) ROW(member, .title = (shown))
#define IF_ANY(member) ROW(member, .rules = MS_IF_ANY)
#define WITH(flag, member) ROW(member, .rules = MS_IF_ANY, .when = MS_PLACE(ms_summary, flag))
#define OR_NULL(flag, member) ROW(member, .rules = MS_OR_NULL, .when = MS_PLACE(ms_summary, flag))
#define TIMED(member, digits)                                                                      \
    ROW(member, .rules = MS_OR_NULL, .when = MS_PLACE(ms_summary, step_time_ms),                   \
        .decimals = (digits))
static const ms_member members[] = {
    TITLED(param_count, "parameters"),
    TITLED(trainable_param_count, "trained parameters"),
    TITLED(active_param_count, "parameters used per token"),
    TITLED(weight_memory_bytes, "weights"),
    TITLED(buffer_memory_bytes, "buffers"),
    TITLED(grad_memory_bytes, "gradients"),
    TITLED(optimizer_memory_bytes, "optimizer states"),
    TITLED(activation_memory_bytes, "activations at the peak"),
    TITLED(temporary_memory_bytes, "temporaries at the peak"),
    TITLED(persistent_memory_bytes, "weights, buffers, gradients, states"),
    TITLED(saved_bytes, "saved for backward"),
    TITLED(after_build_bytes, "allocated when the model is loaded"),
    TITLED(start_bytes, "allocated when a step begins"),
    TITLED(peak_memory_bytes, "allocated at the peak"),
    TITLED(reserved_memory_bytes, "reserved by the allocator"),
    TITLED(job_peak_memory_bytes, "allocated, peak of the job"),
    TITLED(job_reserved_memory_bytes, "reserved, peak of the job"),
    TITLED(allocator_retries, "times the allocator returned memory"),
    TITLED(low_device_bytes, "on the device, at least"),
    TITLED(expected_device_bytes, "on the device, expected"),
    TITLED(high_device_bytes, "on the device, at most"),
    WITH(balanced_peak_bytes, balanced_peak_bytes),
    WITH(balanced_peak_bytes, skewed_peak_bytes),
    WITH(evaluation_peak_bytes, evaluation_peak_bytes),
    WITH(evaluation_peak_bytes, evaluation_reserved_bytes),
    IF_ANY(first_step_reserved_bytes),
    IF_ANY(slow_device_reserved_bytes),
    PLAIN(peak_stage),
    PLAIN(job_peak_stage),
    MS_FIT_MEMBERS(ms_summary, verdict_reason),
    OR_NULL(budget_bytes, budget_bytes),
    OR_NULL(budget_bytes, headroom_bytes),
    TIMED(step_time_ms, 3),
    TIMED(exposed_copy_ms, 3),
    PLAIN(tokens),
    TIMED(tokens_per_s, 4),
    TIMED(tokens_per_s_per_gpu, 4),
    TITLED(host_memory_bytes, "on the host"),
    TITLED(host_weight_memory_bytes, "parameters on the host"),
};
const ms_members ms_summary_table = MS_MEMBERS(ms_summary, members);
