/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/load/load.h"

#include <stdlib.h>
#include <string.h>

#include "config/model/input.h"
#include "config/model/load_model.h"
#include "text/nearest.h"
#include "config/resolve/prices.h"
#include "config/resolve/resolve.h"
#include "config/resolve/resolve_adapter.h"
#include "config/load/launched.h"
#include "config/load/named_model.h"
#include "config/load/again.h"
#include "config/load/as_configured.h"
#include "config/load/run_file.h"
#include "config/trainers/keys/key_walk.h"
#include "json/read.h"

/* ---- runs ---- */

typedef struct loading {
    ms_arena *arena;
    const ms_family_list *families;
    ms_run_draft draft;
    ms_run_origins origins;
    ms_model_config *model;
    ms_run_config *run;
    ms_adapter *adapter;
    ms_settings_files files; /* of training settings, as long as their places are needed */
    ms_notes *notes, unsupported;
    ms_read_keys keys;
    ms_error *err;
    bool is_run;       /* a run file, though it names no model itself */
    const char *asked; /* a field; *place is where the files say it. NULL: none */
    ms_error *place;
} loading;

/* Flags win. */
static ms_status apply_settings(loading *l, const ms_run_setting *settings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int index = ms_run_field_find(settings[i].field);
        if (index >= 0 && l->origins.in_file[index])
            ms_run_field_unset(&l->draft, settings[i].field);
        ms_status status =
            ms_run_field_set(&l->draft, l->arena, settings[i].field, settings[i].value, l->err);
        if (status != MS_OK)
            return status;
        l->origins.in_file[index] = false;
    }
    return MS_OK;
}

static bool in_file(const loading *l, const char *field)
{
    return l->origins.in_file[ms_run_field_find(field)];
}

/* Reads the file that a field names, if any, beside the run file if that names it. */
static ms_status read_beside(loading *l, const char *field, const char *path, const char *run_path,
                             ms_status (*take)(loading *l, ms_json_value root))
{
    ms_json_source source;
    char *text = NULL;
    ms_json *document = NULL;
    if (!ms_run_field_is_set(&l->draft, field))
        return MS_OK;
    if (in_file(l, field))
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

/* ---- plans ---- */

/* A plan and a field with the same effect exclude each other; a flag wins over the run file. */
static ms_status settle_plan(loading *l, const char *other)
{
    if (!ms_run_field_is_set(&l->draft, "plan") || !ms_run_field_is_set(&l->draft, other))
        return MS_OK;
    if (in_file(l, "plan") == in_file(l, other))
        return ms_fail(l->err, MS_ERR_USAGE,
                       "a plan states how each layer is treated, and so does "
                       "%s: give one of them",
                       other);
    ms_run_field_unset(&l->draft, in_file(l, "plan") ? "plan" : other);
    return MS_OK;
}

static ms_status take_field(loading *l, ms_json_value value, const char *field)
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
static ms_status take_place(loading *l, ms_json_value root, const char *field, const char *key)
{
    ms_json_value value;
    bool said = ms_run_field_is_set(&l->draft, field) && (!in_file(l, field) || in_file(l, "plan"));
    if (said || !ms_json_find(root, key, &value))
        return MS_OK;
    return take_field(l, value, field);
}

static ms_status take_plan(loading *l, ms_json_value root)
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

/* The treatments of a plan stand for those that could have been given. */
static ms_status apply_plan(loading *l, const char *run_path)
{
    ms_status status = settle_plan(l, "treat");
    if (status == MS_OK)
        status = settle_plan(l, "checkpointing");
    return status == MS_OK ? read_beside(l, "plan", l->draft.plan, run_path, take_plan) : status;
}

/* ---- training arguments ---- */

static ms_launched launched(loading *l, const char *run_path)
{
    return (ms_launched){l->arena, run_path, &l->draft, &l->origins};
}

static ms_status apply_training_args(loading *l, const char *run_path)
{
    const ms_launched run = launched(l, run_path);
    const ms_told told = {l->notes, &l->unsupported, &l->keys};
    ms_status status = ms_launched_apply(&run, l->model, &l->files, told, l->err);
    return status == MS_OK ? ms_read_keys_assume(&l->keys, l->draft.assume, l->err) : status;
}

/* ---- adapters ---- */

static ms_status take_adapter(loading *l, ms_json_value root)
{
    l->adapter = ms_arena_array(l->arena, ms_adapter, 1);
    if (!l->adapter)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for the adapter");
    return ms_adapter_read(l->arena, root, l->adapter, l->err);
}

static ms_status apply_adapter(loading *l, const char *run_path)
{
    ms_status status = ms_run_adapter_check(&l->draft, l->run, l->err);
    if (status == MS_OK)
        status = read_beside(l, "adapter", l->draft.adapter, run_path, take_adapter);
    if (status == MS_OK)
        status = ms_run_adapter_resolve(l->arena, &l->draft, l->model, l->adapter, l->run, l->err);
    if (status == MS_OK)
        ms_read_keys_bound(&l->run->keys, l->model, l->run);
    return status;
}

static ms_status take_calibration(loading *l, ms_json_value root)
{
    ms_calibration *measured = ms_arena_array(l->arena, ms_calibration, 1);
    if (!measured)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for a calibration");
    l->draft.measured = measured;
    return ms_calibration_read(l->arena, root, measured, l->err);
}

static ms_status apply_calibration(loading *l, const char *run_path)
{
    return read_beside(l, "calibration", l->draft.calibration, run_path, take_calibration);
}

static ms_status take_prices(loading *l, ms_json_value root)
{
    ms_prices *prices = ms_arena_array(l->arena, ms_prices, 1);
    if (!prices)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for prices");
    l->draft.known_prices = prices;
    return ms_prices_read(l->arena, root, prices, l->err);
}

static ms_status apply_prices(loading *l, const char *run_path)
{
    return read_beside(l, "prices", l->draft.prices, run_path, take_prices);
}

/* ---- all of it ---- */

/* The type of the weights is the run's, so the config's is refused only where nobody says another.
 */
static ms_status check_stored_type(loading *l, const char *run_path)
{
    (void)run_path;
    if (!l->model->is_fp8 || ms_run_field_is_set(&l->draft, "dtype"))
        return MS_OK;
    return ms_fail(l->err, MS_ERR_CONFIG,
                   "the model's weights are in fp8, and training in fp8 is not supported; choose "
                   "another type with dtype");
}

static ms_status as_configured(loading *l, const char *run_path)
{
    (void)run_path;
    return ms_run_as_configured(l->arena, l->model, &l->draft, l->notes, &l->unsupported, l->err);
}

static ms_status resolve(loading *l, const char *run_path)
{
    (void)run_path;
    ms_status status =
        ms_run_resolve(l->arena, &l->draft, &l->origins, l->model, l->run, l->notes, l->err);
    l->run->unsupported = l->unsupported;
    l->run->keys = l->keys;
    return status;
}

/* The files it came from are closed soon; texts of a draft are in the arena. */
static ms_status keep_draft(loading *l)
{
    ms_run_draft *kept = ms_arena_array(l->arena, ms_run_draft, 1);
    if (!kept)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for a run");
    *kept = l->draft;
    l->run->draft = kept;
    return MS_OK;
}

static ms_status load_document(loading *l, const ms_input *in, ms_json_value root,
                               const ms_run_setting *settings, size_t count)
{
    static ms_status (*const steps[])(loading * l, const char *run_path) = {
        check_stored_type, apply_training_args, apply_plan, as_configured,
        apply_calibration, apply_prices,        resolve,    apply_adapter};
    const ms_launched run = launched(l, in->path);
    ms_json_value member;
    ms_status status;
    bool has_model = ms_json_find(root, "model", &member);
    if (has_model || l->is_run) {
        status = ms_run_file_read(l->arena, root, &l->draft, &l->origins, l->err);
        if (status == MS_OK)
            status = has_model ? ms_model_load_of_run(l->arena, l->families, in, member, l->model,
                                                      l->notes, l->err)
                               : ms_launched_model(&run, l->families, l->model, l->notes, l->err);
    } else {
        status =
            ms_model_load_value(l->arena, l->families, root, in->name, l->model, l->notes, l->err);
    }
    if (status == MS_OK)
        status = apply_settings(l, settings, count);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == MS_OK; i++)
        status = steps[i](l, in->path);
    return status == MS_OK ? keep_draft(l) : status;
}

static void tell_place(const loading *l)
{
    int index = l->asked ? ms_run_field_find(l->asked) : -1;
    if (index >= 0 && l->origins.in_file[index])
        ms_json_error_set(l->place, l->origins.values[index], MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                          "here");
}

static ms_status load_config(loading *l, const char *config, const ms_run_setting *settings,
                             size_t count)
{
    ms_input in = {0};
    ms_json *document = NULL;
    ms_status status = ms_input_open(l->arena, config, MS_WANTED_RUN, &in, l->err);
    if (status == MS_OK)
        status = ms_json_parse(&in.source, &document, l->err);
    if (status == MS_OK)
        status = load_document(l, &in, ms_json_root(document), settings, count);
    ms_settings_files_close(&l->files);
    ms_json_free(document);
    free(in.text);
    return status;
}

static ms_status load_value(loading *l, ms_json_value value, const char *path,
                            const ms_run_setting *settings, size_t count)
{
    const ms_input in = {.path = path};
    ms_json_value member;
    ms_status status = MS_OK;
    l->is_run = ms_json_find(value, "launch", &member);
    if (!l->is_run)
        status = ms_json_get_member(value, "model", &member, l->err);
    if (status == MS_OK)
        status = load_document(l, &in, value, settings, count);
    tell_place(l);
    ms_settings_files_close(&l->files);
    return status;
}

static loading begin(ms_arena *arena, const ms_family_list *families, ms_loaded into, ms_error *err)
{
    return (loading){.arena = arena,
                     .families = families,
                     .model = into.model,
                     .run = into.run,
                     .notes = into.notes,
                     .err = err};
}

ms_status ms_config_load_value(ms_arena *arena, const ms_family_list *families, ms_json_value value,
                               const char *path, const ms_run_setting *settings, size_t count,
                               ms_loaded into, ms_error *err)
{
    loading l = begin(arena, families, into, err);
    return load_value(&l, value, path, settings, count);
}

bool ms_config_find_origin(ms_arena *arena, const ms_family_list *families, ms_json_value value,
                           const char *path, const char *field, ms_error *place)
{
    ms_model_config model;
    ms_run_config run;
    ms_error err = *place = (ms_error){0};
    loading l = begin(arena, families, (ms_loaded){&model, &run, NULL}, &err);
    l.asked = field;
    l.place = place;
    ms_status status = load_value(&l, value, path, NULL, 0);
    if (status == MS_ERR_NOMEM)
        place->status = MS_ERR_NOMEM;
    return status == MS_OK && place->line > 0;
}

ms_status ms_config_load(ms_arena *arena, const ms_family_list *families,
                         const ms_run_setting *settings, size_t count, ms_loaded into,
                         ms_error *err)
{
    loading l = begin(arena, families, into, err);
    const char *config = NULL;
    ms_status status = ms_config_find_model(arena, settings, count, &config, err);
    return status == MS_OK ? load_config(&l, config, settings, count) : status;
}

/* ---- a device alone ---- */

static bool is_of_device(const char *field)
{
    int index = ms_run_field_find(field);
    return index < 0 || (strcmp(ms_run_table.texts[index].group, "Device") == 0 &&
                         strcmp(ms_run_table.texts[index].name, "torch") != 0);
}

ms_status ms_config_load_device(ms_arena *arena, const ms_run_setting *settings, size_t count,
                                const char *owner, ms_run_config *run, ms_notes *notes,
                                ms_error *err)
{
    loading l = begin(arena, NULL, (ms_loaded){NULL, run, notes}, err);
    for (size_t i = 0; i < count; i++)
        if (!is_of_device(settings[i].field))
            return ms_fail(err, MS_ERR_USAGE, "%s: leave it out, because %s has a step of its own",
                           settings[i].field, owner);
    ms_status status = apply_settings(&l, settings, count);
    if (status == MS_OK)
        status = apply_calibration(&l, NULL);
    if (status == MS_OK)
        status = apply_prices(&l, NULL);
    return status == MS_OK ? ms_run_resolve_device(arena, &l.draft, &l.origins, run, notes, err)
                           : status;
}
