/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/simulate/one_device.h"

#include <string.h>

#include "run/simulate/variation.h"

/* Whether a type of the computation is one that autocast has. */
static bool has_autocast(ms_dtype dtype)
{
    return dtype == MS_DTYPE_BF16 || dtype == MS_DTYPE_F16;
}

/* Whether shards are of another type than what is computed with. */
static bool has_own_types(const ms_parallel *parallel)
{
    return ms_layout_shards(&parallel->layout) && parallel->shard_dtype != parallel->param_dtype;
}

static const char *why_unknown(const ms_run_config *run)
{
    const ms_parallel *parallel = &run->parallel;
    if (parallel->layout.kind == MS_PARALLEL_ZERO)
        return "DeepSpeed's engine keeps copies in fp32, which a run without it does not have";
    if (parallel->offloads)
        return "with fsdp-offload the host keeps what the device would keep otherwise";
    if (has_own_types(parallel) &&
        (parallel->shard_dtype != MS_DTYPE_F32 || !has_autocast(parallel->param_dtype)))
        return "on one device the type of the computation is that of the weights";
    return NULL;
}

static const char *meaning_of(const ms_run_config *run, ms_arena *arena)
{
    const ms_layout *layout = &run->parallel.layout;
    const char *what = ms_layout_has_stages(layout)
                           ? "all layers on one device, the micro-batches one after another"
                       : layout->context > 1 ? "whole sequences on one device"
                                             : "the batch of one rank without --parallel";
    if (!has_own_types(&run->parallel) && !run->parallel.casts_back)
        return what;
    return ms_arena_printf(arena,
                           "%s; weights%s in fp32, and autocast to %s in place of "
                           "--param-dtype",
                           what, run->parallel.casts_back ? " that are not packed" : "",
                           ms_dtype_info_of(run->parallel.param_dtype)->short_name);
}

/* The run without its layout. What the layout's options had set goes with it. */
static void leave_layout(ms_variation *v)
{
    const ms_parallel parallel = v->run.parallel;
    const ms_dtype dtype = ms_layout_shards(&parallel.layout) ? parallel.shard_dtype : v->run.dtype;
    v->run.upcast |= parallel.casts_back;
    if (has_own_types(&parallel) || parallel.casts_back)
        v->run.autocast =
            parallel.param_dtype == MS_DTYPE_BF16 ? MS_AUTOCAST_BF16 : MS_AUTOCAST_F16;
    ms_vary_dtype(v, dtype);
    v->run.parallel = (ms_parallel){.layout = ms_layout_none,
                                    .shard_dtype = dtype,
                                    .load_dtype = dtype,
                                    .param_dtype = dtype,
                                    .reduce_dtype = dtype};
}

ms_status ms_one_device_simulate(const ms_job *rank, ms_arena *arena, ms_one_device *one,
                                 ms_error *err)
{
    *one = (ms_one_device){0};
    if (rank->run->parallel.layout.kind == MS_PARALLEL_NONE)
        return MS_OK;
    one->unknown = why_unknown(rank->run);
    if (one->unknown)
        return MS_OK;
    one->meaning = meaning_of(rank->run, arena);
    if (!one->meaning)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the run on one device");
    ms_variation v = ms_vary_run(rank->model, rank->run, arena);
    leave_layout(&v);
    const ms_job job = ms_variation_job(&v);
    ms_simulated simulated;
    ms_status status = ms_simulate(&job, MS_SIMULATE_SUMMARY, &simulated, err);
    if (status != MS_OK)
        return status;
    memcpy(one->category_bytes, simulated.peak.category_bytes, sizeof one->category_bytes);
    one->peak_bytes = simulated.summary.peak_memory_bytes;
    one->reserved_bytes = simulated.summary.reserved_memory_bytes;
    one->device_bytes = simulated.summary.expected_device_bytes;
    ms_simulated_free(&simulated);
    return MS_OK;
}
