/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/check/deployment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "input/config/model/input.h"
#include "base/json/read.h"
#include "memscope/infer.h"

static const char *value_text(ms_arena *arena, ms_json_value value, ms_error *err)
{
    const char *text = NULL;
    size_t bytes;
    if (ms_json_kind_of(value) == MS_JSON_STRING)
        return ms_json_get_string(value, &text, err) == MS_OK ? ms_arena_strdup(arena, text) : NULL;
    if (ms_json_kind_of(value) == MS_JSON_BOOL) {
        bool is_yes = false;
        return ms_json_get_bool(value, &is_yes, err) == MS_OK ? (is_yes ? "yes" : "no") : NULL;
    }
    if (ms_json_kind_of(value) != MS_JSON_NUMBER)
        return (void)ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                  "expected a text, a number or a boolean"),
               NULL;
    text = ms_json_source_text(value, &bytes);
    return ms_arena_printf(arena, "%.*s", (int)bytes, text);
}

static ms_status set_member(ms_arena *arena, ms_inference *n, ms_json_value value, ms_error *err)
{
    ms_error reason = {.status = MS_OK};
    const char *text = value_text(arena, value, err);
    if (!text && err->status != MS_OK)
        return err->status;
    if (!text)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory");
    if (strcmp(ms_json_key(value), "fit") == 0)
        return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "fit has no place here: a budget is of settings that are known");
    ms_status status = ms_inference_set(n, ms_json_key(value), text, &reason);
    return status == MS_OK
               ? MS_OK
               : ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "%s", reason.text);
}

/* Sets all but the model, which is found beside the file. */
static ms_status set_members(ms_arena *arena, const ms_budget *b, const char *path, ms_inference *n,
                             const char **model, ms_error *err)
{
    ms_json_value v;
    ms_status status = MS_OK;
    for (bool more = ms_json_first(b->infer, &v); more && status == MS_OK; more = ms_json_next(&v))
        if (strcmp(ms_json_key(v), "model") != 0)
            status = set_member(arena, n, v, err);
        else if ((status = ms_json_get_string(v, model, err)) == MS_OK)
            *model = ms_path_beside(arena, path, *model);
    if (status == MS_OK && b->device)
        status = ms_inference_set(n, "device", b->device, err);
    if (status == MS_OK && !*model)
        return ms_json_fail(err, b->infer, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "expected a \"model\" in \"infer\"");
    return status;
}

static ms_status write_text(const ms_inference *n, char **text, size_t *length, ms_error *err)
{
    FILE *out = open_memstream(text, length);
    if (!out)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a report");
    ms_status status = ms_inference_write(n, "json", out, err);
    if (fclose(out) != 0 && status == MS_OK)
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for a report");
    return status;
}

ms_status ms_deployment_text(ms_arena *arena, const ms_budget *b, const char *path,
                             ms_inputs *inputs, char **text, size_t *length, ms_error *err)
{
    const char *model = NULL;
    ms_inference *n = ms_inference_create();
    if (!n)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a prediction of inference");
    ms_inference_set_inputs(n, inputs);
    ms_status status = set_members(arena, b, path, n, &model, err);
    if (status == MS_OK)
        status = ms_inference_predict(n, model, err);
    if (status == MS_OK)
        status = write_text(n, text, length, err);
    ms_inference_free(n);
    return status;
}

ms_status ms_deployment_report(ms_arena *arena, const char *text, size_t length, ms_report *report,
                               ms_error *err)
{
    ms_json *document = NULL;
    const ms_json_source source = {"report", text, length};
    ms_status status = ms_json_parse(&source, &document, err);
    if (status == MS_OK && ms_json_kind_of(ms_json_root(document)) == MS_JSON_ARRAY)
        status = ms_fail(err, MS_ERR_CONFIG, "a budget is of one deployment: it takes no lists");
    if (status == MS_OK)
        status = ms_report_read(arena, ms_json_root(document), report, err);
    ms_json_free(document);
    return status;
}
