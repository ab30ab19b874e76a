/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/load/load.h"

#include <stdlib.h>
#include <string.h>

#include "input/config/model/input.h"
#include "input/config/model/load_model.h"
#include "base/text/nearest.h"
#include "input/config/resolve/prices.h"
#include "input/config/resolve/resolve.h"
#include "input/config/resolve/resolve_adapter.h"
#include "input/config/load/launched.h"
#include "input/config/load/named_model.h"
#include "input/config/load/again.h"
#include "input/config/load/as_configured.h"
#include "input/config/load/lacking.h"
#include "input/config/load/loading.h"
#include "input/config/load/run_file.h"
#include "input/config/trainers/keys/key_walk.h"
#include "base/json/read.h"

/* ---- runs ---- */

/* Flags win. */
static ms_status apply_settings(ms_loading *l, const ms_run_setting *settings, size_t count)
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

/* ---- training arguments ---- */

static ms_status apply_training_args(ms_loading *l, const char *run_path)
{
    const ms_status status = ms_loading_apply_training_args(l, run_path);
    return status == MS_OK ? MS_OK : ms_loading_lacks_settings(l, status);
}

/* ---- adapters ---- */

static ms_status take_adapter(ms_loading *l, ms_json_value root)
{
    l->adapter = ms_arena_array(l->arena, ms_adapter, 1);
    if (!l->adapter)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for the adapter");
    return ms_adapter_read(l->arena, root, l->adapter, l->err);
}

static ms_status apply_adapter(ms_loading *l, const char *run_path)
{
    ms_status status = ms_run_adapter_check(&l->draft, l->run, l->err);
    if (status == MS_OK)
        status = ms_loading_read_beside(l, "adapter", l->draft.adapter, run_path, take_adapter);
    if (status == MS_OK)
        status = ms_run_adapter_resolve(l->arena, &l->draft, l->model, l->adapter, l->run, l->err);
    if (status == MS_OK)
        ms_read_keys_bound(&l->run->keys, l->model, l->run);
    return status;
}

static ms_status take_calibration(ms_loading *l, ms_json_value root)
{
    ms_calibration *measured = ms_arena_array(l->arena, ms_calibration, 1);
    if (!measured)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for a calibration");
    l->draft.measured = measured;
    return ms_calibration_read(l->arena, root, measured, l->err);
}

static ms_status apply_calibration(ms_loading *l, const char *run_path)
{
    return ms_loading_read_beside(l, "calibration", l->draft.calibration, run_path,
                                  take_calibration);
}

static ms_status take_prices(ms_loading *l, ms_json_value root)
{
    ms_prices *prices = ms_arena_array(l->arena, ms_prices, 1);
    if (!prices)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for prices");
    l->draft.known_prices = prices;
    return ms_prices_read(l->arena, root, prices, l->err);
}

static ms_status apply_prices(ms_loading *l, const char *run_path)
{
    return ms_loading_read_beside(l, "prices", l->draft.prices, run_path, take_prices);
}

/* ---- all of it ---- */

/* The type of the weights is the run's, so the config's is refused only where nobody says another.
 */
static ms_status check_stored_type(ms_loading *l, const char *run_path)
{
    (void)run_path;
    if (!l->model->is_fp8 || ms_run_field_is_set(&l->draft, "dtype"))
        return MS_OK;
    return ms_fail(l->err, MS_ERR_CONFIG,
                   "the model's weights are in fp8, and training in fp8 is not supported; choose "
                   "another type with dtype");
}

static ms_status as_configured(ms_loading *l, const char *run_path)
{
    (void)run_path;
    return ms_run_as_configured(l->arena, l->model, &l->draft, l->notes, &l->unsupported, l->err);
}

static ms_status resolve(ms_loading *l, const char *run_path)
{
    (void)run_path;
    ms_status status =
        ms_run_resolve(l->arena, &l->draft, &l->origins, l->model, l->run, l->notes, l->err);
    l->run->unsupported = l->unsupported;
    l->run->keys = l->keys;
    return status;
}

/* Once the files are read as they stay: see load_document. The keys are the run's, too. */
static ms_status assume(ms_loading *l, const char *run_path)
{
    (void)run_path;
    ms_status status = ms_read_keys_assume(&l->keys, l->draft.assume, l->err);
    return status == MS_OK ? ms_read_keys_other_end(&l->keys, l->arena, &l->run->other_end, l->err)
                           : status;
}

/* The files it came from are closed soon; texts of a draft are in the arena. */
static ms_status keep_draft(ms_loading *l)
{
    ms_run_draft *kept = ms_arena_array(l->arena, ms_run_draft, 1);
    if (!kept)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for a run");
    *kept = l->draft;
    l->run->draft = kept;
    return MS_OK;
}

/* Of a run file once its own fields are read: *is_refused tells that it is the model that is. */
static ms_status load_model(ms_loading *l, const ms_input *in, ms_json_value root, bool *is_refused)
{
    const ms_launched run = ms_loading_launched(l, in->path);
    ms_json_value member;
    ms_status status = MS_OK;
    const bool has_model = ms_json_find(root, "model", &member);
    if (has_model || l->is_run)
        status = ms_run_file_read(l->arena, root, &l->draft, &l->origins, l->err);
    if (status != MS_OK)
        return status;
    status = has_model ? ms_model_load_of_run(l->arena, l->families, in, member, l->model, l->notes,
                                              l->err)
             : l->is_run ? ms_launched_model(&run, l->families, l->model, l->notes, l->err)
                         : ms_model_load_value(l->arena, l->families, root, in->name, l->model,
                                               l->notes, l->err);
    *is_refused = status != MS_OK;
    return status;
}

/* The model is refused, with what else is. */
static ms_status lack_model(ms_loading *l, const char *run_path, const ms_run_setting *settings,
                            size_t count, ms_status refused)
{
    ms_error other = {0}, *err = l->err;
    l->err = &other;
    const ms_status status = apply_settings(l, settings, count);
    l->err = err;
    ms_error_add(err, &other);
    if (status != MS_OK)
        return ms_status_is_of_input(status) ? refused : status;
    return ms_loading_lacks_model(l, run_path, refused);
}

/* The file of --family, or of the run file's: the model may be of that family. */
static ms_status add_family(ms_loading *l, const ms_input *in, ms_json_value root,
                            const ms_run_setting *settings, size_t count)
{
    const char *path = NULL;
    ms_json_value member;
    for (size_t i = 0; i < count; i++)
        if (ms_name_equal(settings[i].field, "family"))
            path = settings[i].value;
    if (!path && ms_json_find(root, "model", &member) && ms_json_find(root, "family", &member)) {
        const ms_status status = ms_json_get_string(member, &path, l->err);
        if (status != MS_OK)
            return status;
        path = ms_path_beside(l->arena, in->path, path);
    }
    if (!path || !l->families->with)
        return MS_OK;
    l->families = l->families->with(l->arena, l->families, path, l->err);
    if (l->families)
        return MS_OK;
    return l->err && l->err->status != MS_OK ? l->err->status : MS_ERR_NOMEM;
}

static ms_status load_once(ms_loading *l, const ms_input *in, ms_json_value root,
                           const ms_run_setting *settings, size_t count)
{
    static ms_status (*const steps[])(ms_loading * l, const char *run_path) = {
        check_stored_type, apply_training_args, ms_loading_apply_plan,
        as_configured,     apply_calibration,   apply_prices,
        resolve,           apply_adapter,       assume};
    bool is_refused = false;
    const ms_family_list *known = l->families;
    ms_status status = add_family(l, in, root, settings, count);
    if (status != MS_OK) {
        l->families = known;
        return status;
    }
    status = load_model(l, in, root, &is_refused);
    if (is_refused)
        return lack_model(l, in->path, settings, count, status);
    if (status == MS_OK)
        status = apply_settings(l, settings, count);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == MS_OK; i++) {
        l->is_resolving = steps[i] == resolve || steps[i] == apply_adapter;
        status = steps[i](l, in->path);
    }
    return status == MS_OK ? keep_draft(l) : status;
}

/* Where ZeRO-3 of a file is not predicted, FSDP2 stands for it, and where the units that accelerate
 * makes of a model's ends are not, those of layers. */
static ms_status load_document(ms_loading *l, const ms_input *in, ms_json_value root,
                               const ms_run_setting *settings, size_t count)
{
    ms_loading before = *l;
    ms_error first = {0}, second = {0};
    const uint32_t notes = l->notes ? l->notes->count : 0;
    l->err = &first;
    ms_status status = load_once(l, in, root, settings, count);
    const bool is_refused = l->is_resolving && (status == MS_ERR_CONFIG || status == MS_ERR_USAGE);
    const bool has_zero3 = l->draft.has_zero3;
    if (is_refused && (has_zero3 || l->draft.has_end_units)) {
        ms_settings_files_close(&l->files);
        if (l->notes)
            l->notes->count = notes;
        *l = before;
        *l->run = (ms_run_config){0};
        *l->model = (ms_model_config){0};
        l->draft.shards_instead = has_zero3;
        l->draft.has_plain_units = !has_zero3;
        l->err = &second;
        status = load_once(l, in, root, settings, count);
        if (status == MS_ERR_NOMEM)
            first = second;
        else if (status != MS_OK) {
            status = first.status;
            ms_error_add(&first, &second);
        }
    }
    l->err = before.err;
    if (status != MS_OK && before.err && before.err->status == MS_OK)
        *before.err = first;
    return status;
}

static void tell_place(const ms_loading *l)
{
    int index = l->asked ? ms_run_field_find(l->asked) : -1;
    if (index >= 0 && l->origins.in_file[index])
        ms_json_error_set(l->place, l->origins.values[index], MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                          "here");
}

static ms_status load_config(ms_loading *l, const char *config, const ms_run_setting *settings,
                             size_t count)
{
    ms_input in = {0};
    ms_json *document = NULL;
    ms_status status = ms_input_open(l->arena, config, MS_WANTED_RUN, &in, l->err);
    if (status == MS_OK && in.note)
        status = ms_note_add(l->notes, l->arena, l->err, "%s", in.note);
    if (status == MS_OK)
        status = ms_json_parse(&in.source, &document, l->err);
    status = status == MS_OK ? load_document(l, &in, ms_json_root(document), settings, count)
                             : lack_model(l, NULL, settings, count, status);
    ms_settings_files_close(&l->files);
    ms_json_free(document);
    free(in.text);
    return status;
}

static ms_status load_value(ms_loading *l, ms_json_value value, const char *path,
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

static ms_loading begin(ms_arena *arena, const ms_family_list *families, ms_loaded into,
                        ms_error *err)
{
    return (ms_loading){.arena = arena,
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
    ms_loading l = begin(arena, families, into, err);
    return load_value(&l, value, path, settings, count);
}

bool ms_config_find_origin(ms_arena *arena, const ms_family_list *families, ms_json_value value,
                           const char *path, const char *field, ms_error *place)
{
    ms_model_config model;
    ms_run_config run;
    ms_error err = *place = (ms_error){0};
    ms_loading l = begin(arena, families, (ms_loaded){&model, &run, NULL}, &err);
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
    ms_loading l = begin(arena, families, into, err);
    const char *config = NULL;
    ms_status status = ms_config_find_model(arena, settings, count, &config, err);
    if (status == MS_OK)
        return load_config(&l, config, settings, count);
    status = lack_model(&l, NULL, settings, count, status);
    ms_settings_files_close(&l.files);
    return status;
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
    ms_loading l = begin(arena, NULL, (ms_loaded){NULL, run, notes}, err);
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
