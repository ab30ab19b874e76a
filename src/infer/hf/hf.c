/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/hf/hf.h"

#include "infer/hf/parts.h"
#include "infer/hf/run.h"

typedef struct peaks {
    ms_hf_peak load, prefill, decode;
} peaks;

static bool add_figures(const ms_hf_run *r, const ms_simulation *simulation, const peaks *p,
                        ms_infer_result *result)
{
    const ms_infer_figure figures[] = {{"parameters", simulation->param_count},
                                       {"prompt", r->generation.prompt},
                                       {"generate", r->generation.tokens},
                                       {"load_allocated_bytes", p->load.allocated},
                                       {"load_reserved_bytes", p->load.reserved},
                                       {"prefill_peak_allocated_bytes", p->prefill.allocated},
                                       {"prefill_end_allocated_bytes", p->prefill.end_allocated},
                                       {"prefill_reserved_bytes", p->prefill.reserved},
                                       {"decode_peak_allocated_bytes", p->decode.allocated},
                                       {"decode_end_allocated_bytes", p->decode.end_allocated},
                                       {"decode_reserved_bytes", p->decode.reserved}};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (!ms_infer_figure_add(result, figures[i].name, figures[i].value))
            return false;
    return true;
}

/* Tokens that the layers' caches hold in the phase: that of the last token has none yet. */
static uint64_t cells_of(const ms_hf_run *r, ms_infer_phase phase)
{
    return phase == MS_INFER_DECODE    ? r->generation.prompt + r->generation.tokens - 1
           : phase == MS_INFER_PREFILL ? r->generation.prompt
                                       : 0;
}

static ms_status add_parts(const ms_hf_run *r, const ms_simulation *simulation,
                           const ms_usage *usage, uint64_t layers, const peaks *p,
                           ms_infer_result *result, ms_error *err)
{
    const ms_hf_peak *all[] = {&p->load, &p->prefill, &p->decode};
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && status == MS_OK; i++)
        if (all[i]->allocated > 0)
            status = ms_hf_parts_add(&simulation->trace, usage, all[i], cells_of(r, all[i]->phase),
                                     layers, result, err);
    return status;
}

static ms_status predict(const ms_infer_job *job, const ms_hf_run *r,
                         const ms_simulation *simulation, const ms_usage *usage,
                         ms_infer_result *result, ms_error *err)
{
    uint32_t passes = usage->phases.count;
    const peaks p = {ms_hf_peak_of_load(&simulation->trace, usage),
                     ms_hf_peak_of_passes(usage, MS_INFER_PREFILL, 0, 1),
                     ms_hf_peak_of_passes(usage, MS_INFER_DECODE, 1, passes)};
    result->devices = 1;
    result->context = r->generation.prompt + r->generation.tokens;
    result->weights_type = ms_dtype_info_of(r->run.dtype)->short_name;
    ms_status status = add_parts(r, simulation, usage, job->config->num_layers, &p, result, err);
    if (status == MS_OK && !add_figures(r, simulation, &p, result))
        status = ms_infer_no_memory(err);
    return status;
}

ms_status ms_hf_infer(const ms_infer_job *job, ms_infer_result *result, ms_error *err)
{
    ms_hf_run r = {.generation = {0}};
    ms_simulation simulation;
    ms_usage usage;
    ms_status status = ms_hf_run_resolve(job, &r, err);
    if (status == MS_OK)
        status = ms_step_generate(job->config, &r.run, &r.generation, &simulation, err);
    if (status != MS_OK)
        return status;
    ms_allocator_options unlimited = r.run.allocator;
    unlimited.capacity_bytes = unlimited.device_bytes = 0;
    status = ms_usage_measure_figures(&simulation.trace, &unlimited, &usage, err);
    if (status == MS_OK) {
        status = predict(job, &r, &simulation, &usage, result, err);
        ms_usage_free(&usage);
    }
    ms_simulation_free(&simulation);
    return status;
}
