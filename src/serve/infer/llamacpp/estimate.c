/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llamacpp/estimate.h"

#include <string.h>

#include "serve/infer/llama/buffers.h"
#include "serve/infer/llama/compute.h"

static void add_buffers(const ms_infer_result *result, int place, ms_llama_estimate *to)
{
    for (uint32_t i = 0; i < result->buffers.count; i++) {
        const ms_infer_buffer *b = &result->buffers.items[i];
        bool counts = b->device == place && strcmp(b->place, "CPU_REPACK") != 0;
        to->all += counts ? (int64_t)b->bytes : 0;
        to->weights += counts && b->part == MS_INFER_WEIGHTS ? (int64_t)b->bytes : 0;
    }
}

static ms_status estimate(const ms_llama_run *r, ms_infer_result *result,
                          ms_llama_estimate *estimates, ms_error *err)
{
    uint64_t compute[MS_LLAMA_MAX_DEVICES + 1] = {0};
    uint32_t devices = r->is_cuda ? r->devices : 0;
    ms_status status = ms_llama_weights_add(r, result, err);
    if (status == MS_OK)
        status = ms_llama_caches_add(r, result, err);
    if (status == MS_OK)
        status = ms_llama_compute_estimate(r, compute, err);
    for (uint32_t i = 0; i < (devices ? devices : 1) && status == MS_OK; i++) {
        estimates[i] = (ms_llama_estimate){.all = (int64_t)compute[i]};
        add_buffers(result, devices ? (int)i : MS_INFER_HOST, &estimates[i]);
    }
    return status;
}

ms_status ms_llama_estimate_make(const ms_infer_job *job, const ms_llama_model *model,
                                 ms_llama_estimate estimates[MS_LLAMA_MAX_DEVICES], ms_error *err)
{
    ms_infer_settings settings = *job->settings;
    ms_infer_job measured = *job;
    ms_infer_result result = {.devices = 0};
    ms_llama_run run;
    settings.llama.mmap = false;
    measured.settings = &settings;
    measured.arena = ms_arena_create(0);
    if (!measured.arena)
        return ms_infer_no_memory(err);
    ms_status status = ms_llama_run_resolve(&measured, model, &run, err);
    if (status == MS_OK)
        status = ms_llama_flash_resolve(&run, err);
    if (status == MS_OK)
        status = estimate(&run, &result, estimates, err);
    ms_infer_result_free(&result);
    ms_arena_free(measured.arena);
    return status;
}
