/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/load_model.h"

#include <stdlib.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/model/model_read.h"
#include "input/config/names/no_config.h"
#include "base/json/read.h"

ms_status ms_model_load_value(ms_arena *arena, const ms_family_list *families, ms_json_value root,
                              const char *name, ms_model_config *model, ms_notes *notes,
                              ms_error *err)
{
    ms_status status = ms_model_config_read(arena, root, families, model, notes, err);
    if (status == MS_OK)
        model->name = name ? name : model->model_type;
    return status;
}

/* A config of its own, named by a preset name or a path. */
ms_status ms_model_load_named(ms_arena *arena, const ms_family_list *families, const char *config,
                              ms_model_config *model, ms_notes *notes, ms_error *err)
{
    ms_input in = {0};
    ms_json *document = NULL;
    ms_status status = ms_input_open(arena, config, MS_WANTED_MODEL, &in, err);
    if (status == MS_OK && in.note)
        status = ms_note_add(notes, arena, err, "%s", in.note);
    if (status == MS_OK)
        status = ms_json_parse(&in.source, &document, err);
    if (status == MS_OK)
        status = ms_model_load_value(arena, families, ms_json_root(document), in.name, model, notes,
                                     err);
    ms_json_free(document);
    free(in.text);
    return status;
}

ms_status ms_model_load_preset(ms_arena *arena, const ms_family_list *families, const char *name,
                               ms_model_config *model, ms_error *err)
{
    return ms_is_preset(name) ? ms_model_load_named(arena, families, name, model, NULL, err)
                              : ms_fail_no_config(arena, name, err);
}

ms_status ms_model_load_of_run(ms_arena *arena, const ms_family_list *families, const ms_input *in,
                               ms_json_value value, ms_model_config *model, ms_notes *notes,
                               ms_error *err)
{
    const char *text = NULL;
    if (ms_json_kind_of(value) == MS_JSON_OBJECT)
        return ms_model_load_value(arena, families, value, in->name, model, notes, err);
    if (ms_json_kind_of(value) != MS_JSON_STRING)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "expected a config, the name of a built-in model, or a path");
    (void)ms_json_get_string(value, &text, err);
    const char *config = ms_path_beside(arena, in->path, text);
    if (!config)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a path");
    if (strcmp(config, "-") == 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a run file cannot take its model from standard input");
    ms_error found = {0};
    ms_status status = ms_model_load_named(arena, families, config, model, notes, &found);
    if (status == MS_OK || (found.file[0] && found.line > 0)) {
        if (status != MS_OK && err && err->status == MS_OK)
            *err = found;
        return status;
    }
    /* Nothing to point at in the other file: the name here is what is wrong. */
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, status, "%.100s%s%s",
                        found.file[0] ? text : "", found.file[0] ? ": " : "", found.text);
}
