/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/load/load_run.h"

#include "input/config/resolve/resolve.h"

ms_status ms_config_load_run(ms_arena *arena, const ms_model_config *model,
                             const ms_run_setting *settings, size_t count, ms_run_config *run,
                             ms_error *err)
{
    ms_run_draft draft = {.is_inference = true};
    const ms_run_origins origins = {0};
    for (size_t i = 0; i < count; i++) {
        ms_status status =
            ms_run_field_set(&draft, arena, settings[i].field, settings[i].value, err);
        if (status != MS_OK)
            return status;
    }
    return ms_run_resolve(arena, &draft, &origins, model, run, NULL, err);
}
