/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/summary.h"

#include <string.h>

#define ROW(name, title)                                                                           \
    {                                                                                              \
#name, title, offsetof(ms_summary, name), false, false                                     \
    }
#define COUNT(name, title)                                                                         \
    {                                                                                              \
#name, title, offsetof(ms_summary, name), true, false                                      \
    }
#define HOST(name, title)                                                                          \
    {                                                                                              \
#name, title, offsetof(ms_summary, name), false, true                                      \
    }

static const ms_summary_row rows[] = {
    COUNT(param_count, "parameters"),
    COUNT(trainable_param_count, "trained parameters"),
    COUNT(active_param_count, "parameters used per token"),
    ROW(weight_memory_bytes, "weights"),
    ROW(buffer_memory_bytes, "buffers"),
    ROW(grad_memory_bytes, "gradients"),
    ROW(optimizer_memory_bytes, "optimizer states"),
    ROW(activation_memory_bytes, "activations at the peak"),
    ROW(temporary_memory_bytes, "temporaries at the peak"),
    ROW(persistent_memory_bytes, "weights, buffers, gradients, states"),
    ROW(saved_bytes, "saved for backward"),
    ROW(after_build_bytes, "allocated when the model is loaded"),
    ROW(start_bytes, "allocated when a step begins"),
    ROW(peak_memory_bytes, "allocated at the peak"),
    ROW(reserved_memory_bytes, "reserved by the allocator"),
    ROW(job_peak_memory_bytes, "allocated, the most of the job"),
    ROW(job_reserved_memory_bytes, "reserved, the most of the job"),
    COUNT(allocator_retries, "times the allocator returned memory"),
    ROW(low_device_bytes, "on the device, at least"),
    ROW(expected_device_bytes, "on the device, expected"),
    ROW(high_device_bytes, "on the device, at most"),
    HOST(host_memory_bytes, "on the host"),
    HOST(host_weight_memory_bytes, "parameters on the host"),
};

const ms_summary_row *ms_summary_row_at(size_t index)
{
    return index < sizeof rows / sizeof rows[0] ? &rows[index] : NULL;
}

uint64_t ms_summary_value(const ms_summary *summary, const ms_summary_row *row)
{
    uint64_t value;
    memcpy(&value, (const char *)summary + row->offset, sizeof value);
    return value;
}
