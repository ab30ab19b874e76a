/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/load/launched.h"

#include <inttypes.h>

#include "config/load/named_model.h"
#include "config/model/load_model.h"

/* Those that the run file itself has are beside it. */
static const char *beside(const ms_launched *run, const char *field)
{
    return run->origins->in_file[ms_run_field_find(field)] ? run->path : NULL;
}

static ms_settings_places places_of(const ms_launched *run)
{
    static const char files[] = "training-args", launch[] = "launch";
    const ms_run_draft *draft = run->draft;
    return (ms_settings_places){.paths =
                                    ms_run_field_is_set(draft, files) ? draft->training_args : NULL,
                                .paths_beside = beside(run, files),
                                .launch = ms_run_field_is_set(draft, launch) ? draft->launch : NULL,
                                .launch_beside = beside(run, launch)};
}

/* The number of ranks that a launch starts. */
static ms_status take_world(const ms_launched *run, uint64_t world, ms_error *err)
{
    ms_run_draft *draft = run->draft;
    if (world == 0)
        return MS_OK;
    if (ms_run_field_is_set(draft, "world") && draft->world != world)
        return ms_fail(err, MS_ERR_USAGE,
                       "the launch starts %" PRIu64 " processes, but world is %" PRIu64, world,
                       draft->world);
    const char *text = ms_arena_printf(run->arena, "%" PRIu64, world);
    if (!text)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a number of ranks");
    return ms_run_field_set(draft, run->arena, "world", text, err);
}

ms_status ms_launched_apply(const ms_launched *run, const ms_model_config *model,
                            ms_settings_files *files, ms_told told, ms_error *err)
{
    const ms_settings_places places = places_of(run);
    if (!places.paths && !places.launch)
        return MS_OK;
    ms_status status = ms_settings_files_open(run->arena, &places, files, told.notes, err);
    run->draft->is_launched_apart = files->has_trainer_too;
    if (status == MS_OK)
        status = take_world(run, files->world, err);
    if (status == MS_OK)
        run->draft->has_allocator_conf = files->allocator.name != NULL;
    if (status == MS_OK)
        status = ms_allocator_conf_apply(&files->allocator, run->arena, run->draft, told.keys, err);
    return status == MS_OK ? ms_training_args_read(run->arena, ms_settings_files_root(files), model,
                                                   run->draft, run->origins, told, err)
                           : status;
}

ms_status ms_launched_model(const ms_launched *run, const ms_family_list *families,
                            ms_model_config *model, ms_notes *notes, ms_error *err)
{
    const ms_settings_places places = places_of(run);
    const char *config = NULL;
    ms_status status = ms_settings_find_model(run->arena, &places, &config, err);
    return status == MS_OK ? ms_model_load_named(run->arena, families, config, model, notes, err)
                           : status;
}
