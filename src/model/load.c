/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/load.h"

#include <string.h>

#include "input/config/model/load_model.h"
#include "input/config/model/model_config.h"
#include "input/config/model/notes.h"
#include "model/families.h"
#include "base/text/nearest.h"

ms_status ms_run_load(ms_arena *arena, const ms_run_setting *settings, size_t count,
                      ms_model_config *model, ms_run_config *run, ms_notes *notes, ms_error *err)
{
    return ms_config_load(arena, ms_families(), settings, count, (ms_loaded){model, run, notes},
                          err);
}

/* Whether another choice of settings may change that. */
static bool is_of_settings(ms_status status)
{
    return status == MS_ERR_CONFIG || status == MS_ERR_USAGE;
}

/* "nf4:double:bf16" for "nf4:double", which keeps bytes, that fully_shard cannot divide; NULL: the
 * settings pack no weights so, or out of memory. */
static const char *packed_as_numbers(ms_arena *arena, const ms_run_setting *settings, size_t count)
{
    const char *packed = NULL;
    for (size_t i = 0; i < count; i++)
        if (ms_name_equal(settings[i].field, "quantize"))
            packed = settings[i].value;
    if (!packed || strstr(packed, "bf16"))
        return NULL;
    return ms_arena_printf(arena, "%s:bf16", packed);
}

/* The settings with room for as many more. NULL: out of memory. */
static ms_run_setting *with_room(ms_arena *arena, const ms_run_setting *settings, size_t count,
                                 size_t more)
{
    ms_run_setting *all = ms_arena_array(arena, ms_run_setting, count + more);
    if (all)
        memcpy(all, settings, count * sizeof *all);
    return all;
}

/* The same run under fully_shard on two ranks, which gather all weights in one type and divide no
 * bytes: where they must, an adapter is gathered in the base's type, and a base is packed as
 * numbers; the note says so. */
static ms_status load_sharded(ms_arena *arena, const ms_run_setting *settings, size_t count,
                              ms_notes *notes, ms_run_config *shared, ms_error *err)
{
    ms_model_config model;
    ms_error later = {.status = MS_OK};
    ms_run_setting *more = with_room(arena, settings, count, 3);
    const char *packed = packed_as_numbers(arena, settings, count);
    if (!more)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a run");
    more[count] = (ms_run_setting){.field = "parallel", .value = "fsdp=2"};
    more[count + 1] = (ms_run_setting){.field = "param-dtype", .value = "bf16"};
    more[count + 2] = (ms_run_setting){.field = "quantize", .value = packed};
    ms_status status = ms_run_load(arena, more, count + 1, &model, shared, NULL, err);
    for (size_t extra = 2; is_of_settings(status) && extra <= (packed ? 3 : 2); extra++) {
        if (ms_run_load(arena, more, count + extra, &model, shared, NULL, &later) != MS_OK)
            continue;
        *err = (ms_error){.status = MS_OK};
        return ms_note_add(notes, arena, err,
                           "several GPUs share the run by --parallel fsdp=N --param-dtype bf16%s%s",
                           extra == 3 ? " --quantize " : "", extra == 3 ? packed : "");
    }
    return status;
}

/* Whether the run that failed so is one on one device: it fails in the same words where it is said
 * to be. */
static bool has_no_layout(ms_arena *arena, const ms_run_setting *settings, size_t count,
                          const ms_error *err)
{
    ms_model_config model;
    ms_run_config run;
    ms_error again = {.status = MS_OK};
    ms_run_setting *more = with_room(arena, settings, count, 1);
    if (!more)
        return false;
    more[count] = (ms_run_setting){.field = "parallel", .value = "none"};
    ms_status status = ms_run_load(arena, more, count + 1, &model, &run, NULL, &again);
    return status != MS_OK && strcmp(again.text, err->text) == 0;
}

ms_status ms_run_load_shared(ms_arena *arena, const ms_run_setting *settings, size_t count,
                             const ms_loaded *into, ms_run_config *shared, ms_error *err)
{
    ms_status status =
        ms_run_load(arena, settings, count, into->model, into->run, into->notes, err);
    if (is_of_settings(status) && has_no_layout(arena, settings, count, err)) {
        /* an option of sharding is one of several GPUs alone */
        ms_error second = {.status = MS_OK};
        if (load_sharded(arena, settings, count, into->notes, into->run, &second) != MS_OK)
            return status;
        *err = (ms_error){.status = MS_OK};
        status = MS_OK;
    }
    if (status != MS_OK)
        return status;
    *shared = *into->run;
    return shared->parallel.layout.kind != MS_PARALLEL_NONE
               ? MS_OK
               : load_sharded(arena, settings, count, into->notes, shared, err);
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
