/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/load/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/read.h"
#include "base/text/nearest.h"
#include "input/config/launch/shell/shell.h"
#include "input/config/load/again.h"
#include "input/config/load/loading.h"
#include "input/config/load/named_model.h"
#include "input/config/model/input.h"
#include "input/config/model/load_model.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/resolve_times.h"
#include "input/config/run/run_fields.h"
#include "input/config/trainers/keys/key_walk.h"

/* ---- run file ---- */

/* Keys of a run file that are no fields of the run. */
static const char *const other_keys[] = {"model", "$schema"};

static bool is_other_key(const char *name)
{
    for (size_t i = 0; i < sizeof other_keys / sizeof other_keys[0]; i++)
        if (strcmp(other_keys[i], name) == 0)
            return true;
    return false;
}

static ms_status fail_unknown(ms_json_value value, ms_error *err)
{
    char hint[MS_CONFIG_HINT_BYTES];
    const char *name = ms_json_key(value);
    if (ms_name_equal(name, "config"))
        return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "a run file names its model in \"model\"");
    return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "unknown key '%.64s'%s", name,
                        ms_run_field_hint(name, hint));
}

/* A list of texts, each as if it were given again. */
static ms_status set_each(ms_arena *arena, ms_json_value list, const char *name,
                          ms_run_draft *draft, ms_error *err)
{
    ms_json_value v;
    const char *text = NULL;
    ms_status status = MS_OK;
    if (ms_json_length(list) == 0)
        return ms_json_fail(err, list, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "the list is empty");
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        status = ms_json_get_string(v, &text, err);
        if (status == MS_OK && strcmp(name, "launch") == 0)
            text = ms_shell_quote(arena, text);
        if (status == MS_OK && !text)
            return ms_fail(err, MS_ERR_NOMEM, "out of memory for a word");
        if (status == MS_OK)
            status = ms_run_field_set(draft, arena, name, text, err);
    }
    return status;
}

/* The value as the command line would spell it. A size without a unit goes through: its setter says
 * best what is missing. */
static ms_status value_text(ms_arena *arena, ms_json_value value, size_t index, const char **text,
                            ms_error *err)
{
    size_t bytes;
    const char *written = ms_json_source_text(value, &bytes);
    bool is_number = ms_json_kind_of(value) == MS_JSON_NUMBER;
    ms_config_written written_as = ms_run_field_kind(index)->written;
    bool takes_words = ms_run_field_kind(index)->takes_words;
    bool wants_number = written_as == MS_WRITTEN_NUMBER;
    if (is_number && strcmp(ms_run_field_name(index), "torch") == 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "expected a string such as \"2.11\": as a number, 2.10 is 2.1");
    if (written_as == MS_WRITTEN_FLAG) {
        bool truth = false;
        *text = ms_json_get_bool(value, &truth, NULL) == MS_OK && truth ? "true" : "false";
        return ms_json_expect(value, MS_JSON_BOOL, err);
    }
    if (!is_number || written_as == MS_WRITTEN_STRING) {
        if (wants_number && ms_json_kind_of(value) != MS_JSON_STRING)
            return ms_json_expect(value, MS_JSON_NUMBER, err);
        ms_status status = ms_json_get_string(value, text, err);
        if (status == MS_OK && wants_number && !takes_words && strcmp(*text, "none") != 0)
            return ms_json_expect(value, MS_JSON_NUMBER, err);
        return status;
    }
    *text = ms_arena_printf(arena, "%.*s", (int)bytes, written);
    return *text ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for a value");
}

static ms_status read_field(ms_arena *arena, ms_json_value value, size_t index, ms_run_draft *draft,
                            ms_error *err)
{
    const char *name = ms_run_field_name(index), *text = NULL;
    if (ms_run_table.rows[index].added_after && ms_json_kind_of(value) == MS_JSON_ARRAY)
        return set_each(arena, value, name, draft, err);
    ms_status status = value_text(arena, value, index, &text, err);
    if (status != MS_OK)
        return status;
    ms_error reason = {0};
    status = ms_run_field_set(draft, arena, name, text, &reason);
    if (status == MS_OK)
        return status;
    /* The place names the field already. */
    const char *said = reason.text;
    if (strncmp(said, name, strlen(name)) == 0 && strncmp(said + strlen(name), ": ", 2) == 0)
        said += strlen(name) + 2;
    if (status == MS_ERR_USAGE)
        status = MS_ERR_CONFIG;
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, status, "%s", said);
}

ms_status ms_run_file_read(ms_arena *arena, ms_json_value root, ms_run_draft *draft,
                           ms_run_origins *origins, ms_error *err)
{
    ms_json_value v;
    for (bool more = ms_json_first(root, &v); more; more = ms_json_next(&v)) {
        int index = ms_run_field_find(ms_json_key(v));
        if (is_other_key(ms_json_key(v)))
            continue;
        if (index < 0 || strcmp(ms_run_field_name((size_t)index), "config") == 0)
            return fail_unknown(v, err);
        if (origins->in_file[index])
            return ms_json_fail(err, v, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                                "the same field as \"%.40s\"", ms_json_key(origins->values[index]));
        ms_status status = read_field(arena, v, (size_t)index, draft, err);
        if (status != MS_OK)
            return status;
        origins->in_file[index] = true;
        origins->values[index] = v;
    }
    return MS_OK;
}

/* ---- as configured ---- */

/* A run as the model's config.json asks for it. */

/* transformers' names and what they are here; NULL: what a run has by itself. */
typedef struct known_name {
    const char *theirs, *ours;
} known_name;

static const known_name attentions[] = {{"sdpa", NULL}, {"eager", "eager"}, {NULL, NULL}};
static const known_name experts[] = {{"grouped_mm", NULL}, {"eager", "eager"}, {NULL, NULL}};

/* With a cache in pages, which training does not have. */
static const char *without_pages(const char *name)
{
    static const char pages[] = "paged|";
    return strncmp(name, pages, sizeof pages - 1) == 0 ? name + sizeof pages - 1 : name;
}

typedef struct asking {
    ms_arena *arena;
    ms_run_draft *draft;
    ms_notes *notes, *unsupported;
    ms_error *err;
} asking;

static ms_status set(const asking *a, const char *field, const char *value)
{
    ms_status status = ms_run_field_set(a->draft, a->arena, field, value, a->err);
    return status == MS_OK ? ms_note_add(a->notes, a->arena, a->err,
                                         "the model's config asks for --%s %s", field, value)
                           : status;
}

static ms_status take(const asking *a, const char *field, const char *name, const known_name *known)
{
    if (!name || ms_run_field_is_set(a->draft, field))
        return MS_OK;
    for (size_t i = 0; known[i].theirs; i++)
        if (strcmp(known[i].theirs, without_pages(name)) == 0)
            return known[i].ours ? set(a, field, known[i].ours) : MS_OK;
    return ms_note_add(a->unsupported, a->arena, a->err,
                       "the model's config has %s '%.60s'; the figures are for %s", field, name,
                       known[0].theirs);
}

/* Layers may be treated by other fields as well, which win. */
static bool says_layers(const ms_run_draft *draft)
{
    return ms_run_field_is_set(draft, "checkpointing") || ms_run_field_is_set(draft, "treat") ||
           ms_run_field_is_set(draft, "plan");
}

/* Sets the fields that the config asks for and nothing else has set, and notes them. What is not
 * predicted of it is listed in `unsupported`. */
static ms_status run_as_configured(ms_arena *arena, const ms_model_config *model,
                                   ms_run_draft *draft, ms_notes *notes, ms_notes *unsupported,
                                   ms_error *err)
{
    const asking a = {arena, draft, notes, unsupported, err};
    ms_status status = take(&a, "attention", model->asked_attention, attentions);
    if (status == MS_OK && model->num_experts > 0)
        status = take(&a, "experts", model->asked_experts, experts);
    if (status == MS_OK && model->asks_checkpoints && !says_layers(draft))
        status = set(&a, "checkpointing", "all");
    return status;
}

/* ---- load run ---- */

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

/* ---- lacking ---- */

/* What else is refused of a run that is refused already, so that all of it is told at once. */

static ms_status add(const ms_loading *l, const ms_error *other, ms_status refused)
{
    ms_error_add(l->err, other);
    return other->status == MS_OK || ms_status_is_of_input(other->status) ? refused : other->status;
}

/* Reads the training settings of a run whose model is refused, which l->err tells, with another
 * model in its place, and adds what is refused of them. Yields `refused`, or MS_ERR_NOMEM. */
static ms_status loading_lacks_model(ms_loading *l, const char *run_path, ms_status refused)
{
    static const char other_model[] = "llama-3.1-8b";
    ms_error other = {0};
    ms_model_config model = {0};
    ms_loading instead = *l;
    if (!ms_status_is_of_input(refused))
        return refused;
    instead.err = &other;
    instead.model = &model;
    instead.lacks_model = true;
    ms_status status =
        ms_model_load_preset(l->arena, l->built_in, other_model, &model, instead.err);
    if (status == MS_OK)
        (void)ms_loading_apply_training_args(&instead, run_path);
    l->files = instead.files; /* its caller closes them */
    return add(l, &other, refused);
}

/* Another field that follows from the same key has its name in front. */
static bool names_field(const char *text)
{
    for (size_t i = 0; i < MS_RUN_FIELD_COUNT; i++) {
        const size_t length = strlen(ms_run_field_name(i));
        if (strncmp(text, ms_run_field_name(i), length) == 0 && text[length] == ':')
            return true;
    }
    return false;
}

/* Whether the refusal is at a field: by its name, or where a file has it. */
static bool is_of(const ms_loading *l, const ms_error *err, const char *field)
{
    const int index = ms_run_field_find(field);
    const size_t length = strlen(field);
    ms_error at = {0};
    if (l->origins.in_file[index])
        ms_json_error_set(&at, l->origins.values[index], MS_JSON_AT_VALUE, MS_ERR_CONFIG, "here");
    else if (l->origins.places[index])
        at = *l->origins.places[index];
    else
        return strncmp(err->text, field, length) == 0 && err->text[length] == ':';
    return !names_field(err->text) && err->line == at.line && strcmp(err->file, at.file) == 0 &&
           strcmp(err->pointer, at.pointer) == 0;
}

/* Resolves a run whose training settings are refused, which l->err tells, and adds what is refused
 * of the layout or the sequence, where what decides them is not refused itself. The same. */
static ms_status loading_lacks_settings(ms_loading *l, ms_status refused)
{
    ms_error other = {0};
    ms_run_config run = *l->run;
    if (!ms_status_is_of_input(refused) || l->draft.has_doubtful_layout || l->draft.has_zero3)
        return refused; /* of ZeRO-3 another layout may stand for it */
    (void)ms_run_resolve(l->arena, &l->draft, &l->origins, l->model, &run, NULL, &other);
    if (!ms_status_is_of_input(other.status) || is_of(l, &other, "parallel") ||
        is_of(l, &other, "seq"))
        return add(l, &other, refused);
    return refused;
}

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
    return status == MS_OK ? MS_OK : loading_lacks_settings(l, status);
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
                   "the model's weights are in fp8, but training in fp8 is not supported; choose "
                   "another type with dtype");
}

static ms_status as_configured(ms_loading *l, const char *run_path)
{
    (void)run_path;
    return run_as_configured(l->arena, l->model, &l->draft, l->notes, &l->unsupported, l->err);
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
    return loading_lacks_model(l, run_path, refused);
}

/* The path of an option, else of the run file; NULL: none. */
static ms_status find_path(const ms_loading *l, const ms_input *in, ms_json_value root,
                           const ms_run_setting *settings, size_t count, const char *field,
                           const char **path)
{
    ms_json_value member;
    *path = NULL;
    for (size_t i = 0; i < count; i++)
        if (ms_name_equal(settings[i].field, field))
            *path = settings[i].value;
    if (*path || !ms_json_find(root, "model", &member) || !ms_json_find(root, field, &member))
        return MS_OK;
    const ms_status status = ms_json_get_string(member, path, l->err);
    *path = status == MS_OK ? ms_path_beside(l->arena, in->path, *path) : NULL;
    return status;
}

/* The file of --family and the folder of --families, or of the run file's: the model may be of such
 * a family. */
static ms_status add_families(ms_loading *l, const ms_input *in, ms_json_value root,
                              const ms_run_setting *settings, size_t count)
{
    const char *path, *folder;
    ms_status status = find_path(l, in, root, settings, count, "family", &path);
    if (status == MS_OK)
        status = find_path(l, in, root, settings, count, "families", &folder);
    if (status != MS_OK)
        return status;
    if (folder && l->families->in)
        l->families = l->families->in(l->arena, l->families, folder, l->err);
    if (l->families && path && l->families->with)
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
    ms_status status = add_families(l, in, root, settings, count);
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
                        .built_in = families,
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
