/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/load/launched.h"

#include <inttypes.h>

#include "input/config/load/named_model.h"
#include "input/config/model/load_model.h"

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

/* What the launch itself sets. */
static ms_status take_launch(const ms_launched *run, const ms_settings_files *files, ms_told told,
                             ms_error *err)
{
    ms_allocator_conf allocator = files->allocator;
    if (files->by_axolotl)
        ms_allocator_conf_heed_axolotl(&allocator, run->draft);
    run->draft->is_launched_apart = files->has_trainer_too;
    run->draft->has_allocator_conf = files->is_module || (allocator.name && !allocator.is_replaced);
    ms_status status = take_world(run, files->world, err);
    return status == MS_OK
               ? ms_allocator_conf_apply(&allocator, run->arena, run->draft, told.keys, err)
               : status;
}

/* What is refused of one does not keep the others from being read. */
ms_status ms_launched_apply(const ms_launched *run, const ms_model_config *model,
                            ms_settings_files *files, ms_told told, ms_error *err)
{
    const ms_settings_places places = places_of(run);
    ms_error second = {0}, third = {0};
    if (!places.paths && !places.launch)
        return MS_OK;
    ms_status status = ms_settings_files_open(run->arena, &places, files, told.notes, err);
    if (!ms_settings_files_are_there(files, status))
        return status;
    const ms_status launch = take_launch(run, files, told, &second);
    status = status == MS_OK ? launch : status;
    run->draft->has_doubtful_layout = status != MS_OK;
    ms_error_add(err, &second);
    if (launch != MS_OK && !ms_status_is_of_input(launch))
        return launch;
    const ms_status settings = ms_training_args_read(run->arena, ms_settings_files_root(files),
                                                     model, run->draft, run->origins, told, &third);
    ms_error_add(err, &third);
    return status == MS_OK || !(settings == MS_OK || ms_status_is_of_input(settings)) ? settings
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
