/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/load/loading.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/read.h"
#include "input/config/load/named_model.h"
#include "input/config/model/family.h"
#include "input/config/model/input.h"
#include "input/config/model/load_model.h"
#include "input/config/resolve/resolve.h"
#include "input/config/run/run_fields.h"
#include "input/config/trainers/training_args.h"

/* ---- launched ---- */

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

/* Sets fields by "training-args" and "launch", if the run has them. The files stay open, as its
 * places are in them; close them also after a failure. */
/* What is refused of one does not keep the others from being read. */
static ms_status launched_apply(const ms_launched *run, const ms_model_config *model,
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

/* ---- loading ---- */

/* Whether a file set the field. */
static bool loading_in_file(const ms_loading *l, const char *field)
{
    return l->origins.in_file[ms_run_field_find(field)];
}

ms_status ms_loading_read_beside(ms_loading *l, const char *field, const char *path,
                                 const char *run_path,
                                 ms_status (*take)(ms_loading *l, ms_json_value root))
{
    ms_json_source source;
    char *text = NULL;
    ms_json *document = NULL;
    if (!ms_run_field_is_set(&l->draft, field))
        return MS_OK;
    if (loading_in_file(l, field))
        path = ms_path_beside(l->arena, run_path, path);
    if (!path)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for a path");
    ms_status status = ms_json_read(ms_arena_inputs(l->arena), path, &source, &text, l->err);
    if (status == MS_OK)
        status = ms_json_parse(&source, &document, l->err);
    if (status == MS_OK)
        status = take(l, ms_json_root(document));
    ms_json_free(document);
    free(text);
    return status;
}

/* ---- training arguments ---- */

ms_launched ms_loading_launched(ms_loading *l, const char *run_path)
{
    return (ms_launched){l->arena, run_path, &l->draft, &l->origins};
}

ms_status ms_loading_apply_training_args(ms_loading *l, const char *run_path)
{
    const ms_launched run = ms_loading_launched(l, run_path);
    const ms_told told = {l->lacks_model ? NULL : l->notes, &l->unsupported, &l->keys,
                          l->lacks_model};
    ms_status status = launched_apply(&run, l->model, &l->files, told, l->err);
    if (status == MS_OK && l->draft.assume_version && !l->keys.versions)
        return ms_fail(l->err, MS_ERR_USAGE,
                       "assume-version: this run has no training arguments, and so no framework");
    return status;
}

/* ---- plans ---- */

/* A plan and a field with the same effect exclude each other; a flag wins over the run file. */
static ms_status settle_plan(ms_loading *l, const char *other)
{
    if (!ms_run_field_is_set(&l->draft, "plan") || !ms_run_field_is_set(&l->draft, other))
        return MS_OK;
    if (loading_in_file(l, "plan") == loading_in_file(l, other))
        return ms_fail(l->err, MS_ERR_USAGE,
                       "both a plan and %s state how each layer is treated: give one of them",
                       other);
    ms_run_field_unset(&l->draft, loading_in_file(l, "plan") ? "plan" : other);
    return MS_OK;
}

static ms_status take_field(ms_loading *l, ms_json_value value, const char *field)
{
    const char *text = NULL;
    ms_error reason = {0};
    ms_status status = ms_json_get_string(value, &text, l->err);
    if (status != MS_OK || !*text)
        return status;
    status = ms_run_field_set(&l->draft, l->arena, field, text, &reason);
    if (status != MS_OK)
        return ms_json_fail(l->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "%s",
                            reason.text + strlen(field) + strlen(": ")); /* the place names it */
    ms_error *place = ms_arena_array(l->arena, ms_error, 1);
    if (!place)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for a place");
    ms_json_error_set(place, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "%s", field);
    l->origins.in_file[ms_run_field_find(field)] = false;
    l->origins.places[ms_run_field_find(field)] = place;
    return MS_OK;
}

/* Where the optimizer or the parameters are was said by the plan, unless it was said beside it. */
static ms_status take_place(ms_loading *l, ms_json_value root, const char *field, const char *key)
{
    ms_json_value value;
    bool said = ms_run_field_is_set(&l->draft, field) &&
                (!loading_in_file(l, field) || loading_in_file(l, "plan"));
    if (said || !ms_json_find(root, key, &value))
        return MS_OK;
    return take_field(l, value, field);
}

static ms_status take_plan(ms_loading *l, ms_json_value root)
{
    ms_json_value value;
    if (!ms_json_find(root, "treat", &value))
        return ms_json_fail(
            l->err, root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
            "it has no \"treat\": expected the output of `memscope plan -o plan.json`");
    ms_status status = take_field(l, value, "treat");
    if (status == MS_OK)
        status = take_place(l, root, "optimizer-device", "optimizer_device");
    if (status == MS_OK)
        status = take_place(l, root, "parameter-device", "parameter_device");
    return status;
}

ms_status ms_loading_apply_plan(ms_loading *l, const char *run_path)
{
    ms_status status = settle_plan(l, "treat");
    if (status == MS_OK)
        status = settle_plan(l, "checkpointing");
    return status == MS_OK ? ms_loading_read_beside(l, "plan", l->draft.plan, run_path, take_plan)
                           : status;
}
