/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/load/lacking.h"

#include <string.h>

#include "input/config/model/load_model.h"

static ms_status add(const ms_loading *l, const ms_error *other, ms_status refused)
{
    ms_error_add(l->err, other);
    return other->status == MS_OK || ms_status_is_of_input(other->status) ? refused : other->status;
}

ms_status ms_loading_lacks_model(ms_loading *l, const char *run_path, ms_status refused)
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
        ms_model_load_preset(l->arena, l->families, other_model, &model, instead.err);
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

ms_status ms_loading_lacks_settings(ms_loading *l, ms_status refused)
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
