/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/load.h"

#include <string.h>

#include "config/model/load_model.h"
#include "model/families.h"

ms_status ms_run_load(ms_arena *arena, const ms_run_setting *settings, size_t count,
                      ms_model_config *model, ms_run_config *run, ms_notes *notes, ms_error *err)
{
    return ms_config_load(arena, ms_families(), settings, count, (ms_loaded){model, run, notes},
                          err);
}

ms_status ms_run_load_shared(ms_arena *arena, const ms_run_setting *settings, size_t count,
                             const ms_loaded *into, ms_run_config *shared, ms_error *err)
{
    ms_model_config model;
    ms_status status =
        ms_run_load(arena, settings, count, into->model, into->run, into->notes, err);
    if (status != MS_OK)
        return status;
    *shared = *into->run;
    if (shared->parallel.layout.kind != MS_PARALLEL_NONE)
        return MS_OK;
    ms_run_setting *more = ms_arena_array(arena, ms_run_setting, count + 1);
    if (!more)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a run");
    memcpy(more, settings, count * sizeof *more);
    more[count] = (ms_run_setting){.field = "parallel", .value = "fsdp=2"};
    return ms_run_load(arena, more, count + 1, &model, shared, NULL, err);
}

ms_status ms_run_load_value(ms_arena *arena, ms_json_value value, const char *path,
                            const ms_run_setting *settings, size_t count, ms_loaded into,
                            ms_error *err)
{
    return ms_config_load_value(arena, ms_families(), value, path, settings, count, into, err);
}

ms_status ms_preset_load(ms_arena *arena, const char *name, ms_model_config *model, ms_error *err)
{
    return ms_model_load_preset(arena, ms_families(), name, model, err);
}
