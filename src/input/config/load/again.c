/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/load/again.h"

#include <string.h>

#include "input/config/adapter/adapter_text.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/resolve.h"

/* ---- adapters ---- */

ms_status ms_run_adapter_check(const ms_run_draft *draft, const ms_run_config *run, ms_error *err)
{
    bool has_file = ms_run_field_is_set(draft, "adapter"), has_text = ms_run_has_lora(draft);
    if (has_file && has_text)
        return ms_fail(err, MS_ERR_USAGE,
                       "adapter and lora both define the adapter: give one of them");
    if ((has_file || has_text) && run->parameter_device == MS_PARAMETERS_ON_HOST)
        return ms_fail(
            err, MS_ERR_USAGE,
            "parameter-device host is not supported with an adapter, because the host keeps what "
            "the optimizer updates and a frozen base is not updated; leave out one of them");
    if (!has_file && !has_text && ms_run_field_is_set(draft, "adapter-dtype"))
        return ms_fail(err, MS_ERR_USAGE,
                       "adapter-dtype needs an adapter: give adapter or lora too");
    return MS_OK;
}

ms_status ms_run_adapter_resolve(ms_arena *arena, const ms_run_draft *draft,
                                 const ms_model_config *model, ms_adapter *read, ms_run_config *run,
                                 ms_error *err)
{
    ms_status status = MS_OK;
    ms_adapter *adapter = read;
    if (ms_run_has_lora(draft)) {
        adapter = ms_arena_array(arena, ms_adapter, 1);
        if (!adapter)
            return ms_fail(err, MS_ERR_NOMEM, "out of memory for the adapter");
        status = ms_adapter_parse(arena, draft->lora, adapter, err);
    }
    run->adapter = adapter;
    if (status != MS_OK || !adapter)
        return status;
    bool has_dtype = ms_run_field_is_set(draft, "adapter-dtype");
    return ms_resolve_adapter(run, model, has_dtype ? &draft->adapter_dtype : NULL, adapter, err);
}

/* ---- the run ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Unless another device was asked for: as the run before has it. */
static void keep_device(const ms_run_config *before, ms_run_config *run)
{
    run->device = before->device;
    run->calibration = before->calibration;
    run->has_budget = before->has_budget;
    run->budget_bytes = before->budget_bytes;
    run->allocator.capacity_bytes = before->allocator.capacity_bytes;
    run->allocator.device_bytes = before->allocator.device_bytes;
}

/* "selective:0.5" takes a simulation to resolve, which was done. */
static void keep_shares(const ms_run_config *before, uint64_t layers, ms_run_config *run)
{
    for (uint64_t i = 0; i < layers; i++) {
        const ms_treatment *was = &before->treatments.layers[i];
        ms_treatment *is = &run->treatments.layers[i];
        if (is->kind == MS_TREAT_SELECTIVE && is->kept_count == 0 &&
            was->kind == MS_TREAT_SELECTIVE)
            *is = *was;
    }
}

ms_status ms_run_change(ms_run_draft *draft, ms_arena *arena, const char *field, const char *value,
                        const char **option, ms_error *err)
{
    if (value)
        *option = ms_arena_printf(arena, "%s%s--%s %s", *option, **option ? " " : "", field, value);
    if (!value || !*option)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a variation of the run");
    return ms_run_field_set(draft, arena, field, value, err);
}

ms_status ms_run_resolve_again(ms_arena *arena, const ms_run_config *before,
                               const ms_run_draft *draft, const ms_model_config *model,
                               ms_run_config *run, ms_error *err)
{
    static const ms_run_origins nowhere;
    const bool same_device = same_text(draft->device, before->draft->device);
    ms_run_draft known = *draft;
    ms_adapter *read = NULL;
    known.run.device = same_device ? before->device : NULL;
    known.run.devices = before->devices;
    known.run.device_count = before->device_count;
    ms_status status = ms_run_resolve(arena, &known, &nowhere, model, run, NULL, err);
    if (status == MS_OK && before->adapter && ms_run_field_is_set(draft, "adapter")) {
        read = ms_arena_array(arena, ms_adapter, 1);
        if (!read)
            return ms_fail(err, MS_ERR_NOMEM, "out of memory for the adapter");
        *read = *before->adapter;
    }
    if (status == MS_OK)
        status = ms_run_adapter_check(draft, run, err);
    if (status == MS_OK)
        status = ms_run_adapter_resolve(arena, draft, model, read, run, err);
    if (status != MS_OK)
        return status;
    if (same_device)
        keep_device(before, run);
    keep_shares(before, model->num_layers, run);
    run->parallel.rank = before->parallel.rank;
    run->parallel.ranks = before->parallel.ranks;
    run->watch = before->watch;
    run->unsupported = before->unsupported;
    run->keys = before->keys;
    run->other_end = before->other_end;
    run->several_gpus = before->several_gpus;
    run->draft = draft;
    return MS_OK;
}
