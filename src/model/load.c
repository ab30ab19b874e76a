/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/load.h"

#include "config/model/load_model.h"
#include "model/families.h"

ms_status ms_run_load(ms_arena *arena, const ms_run_setting *settings, size_t count,
                      ms_model_config *model, ms_run_config *run, ms_notes *notes, ms_error *err)
{
    return ms_config_load(arena, ms_families(), settings, count, (ms_loaded){model, run, notes},
                          err);
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
