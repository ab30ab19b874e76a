/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/report.h"

#include <inttypes.h>
#include <string.h>

#include "input/document/figures.h"
#include "input/document/inference.h"
#include "input/document/reading.h"
#include "base/json/number.h"

/* ---- versions ---- */

/* "1.2": both parts are digits. */
static bool split_version(const char *text, uint64_t *major, uint64_t *minor)
{
    const char *point = strchr(text, '.');
    return point && ms_number_count(text, (size_t)(point - text), major) == MS_COUNT_OK &&
           ms_number_count(point + 1, strlen(point + 1), minor) == MS_COUNT_OK;
}

static ms_status check_version(const ms_reading *r)
{
    ms_json_value value;
    const char *text = NULL;
    uint64_t major = 0, minor = 0;
    ms_status status = ms_json_get_member(r->root, "schema_version", &value, r->err);
    if (status == MS_OK)
        status = ms_json_get_string(value, &text, r->err);
    if (status != MS_OK)
        return status;
    if (!split_version(text, &major, &minor))
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "'%.20s' is not a schema version; expected one such as \"1.0\"", text);
    if (major > MS_REPORT_MAJOR)
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "schema version %.20s is newer than this memscope, which reads %d.x",
                            text, MS_REPORT_MAJOR);
    if (major < MS_REPORT_MAJOR)
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "schema version %.20s is not supported, only %d.x", text,
                            MS_REPORT_MAJOR);
    return MS_OK;
}

bool ms_report_is_one(ms_json_value root)
{
    ms_json_value v;
    return ms_json_find(root, "schema_version", &v) &&
           (ms_json_find(root, "metadata", &v) || ms_reading_is_inference(root));
}

/* ---- fields ---- */

/* Of the metadata: the members from the model's config. */
static const char *const model_fields[] = {
    "model_type",   "num_layers", "hidden_size",       "intermediate_size",
    "num_experts",  "num_heads",  "experts_per_token", "expert_intermediate_size",
    "num_kv_heads", "head_dim",   "vocab_size",        "tie_word_embeddings",
};
/* Redundant with another field, or no difference between runs. */
static const char *const left_aside[] = {"mode",    "model",      "device_title", "folded",
                                         "symbols", "world_size", "budget_bytes", "budget_given"};

#define IS_IN(name, list) is_in(name, list, sizeof(list) / sizeof *(list))

static bool is_in(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static bool is_of_run(const char *name)
{
    return !IS_IN(name, model_fields) && !IS_IN(name, left_aside);
}

static bool is_of_model(const char *name)
{
    return IS_IN(name, model_fields);
}

static bool is_any(const char *name)
{
    (void)name;
    return true;
}

static ms_status read_metadata(const ms_reading *r)
{
    ms_json_value metadata, config;
    ms_status status = ms_json_get_member(r->root, "metadata", &metadata, r->err);
    if (status == MS_OK)
        status = ms_json_expect(metadata, MS_JSON_OBJECT, r->err);
    if (status == MS_OK)
        status = ms_reading_text(r, metadata, "model", &r->report->name);
    if (status == MS_OK)
        status = ms_reading_text(r, metadata, "device", &r->report->device);
    if (status == MS_OK)
        status = ms_reading_fields(r, metadata, is_of_run, &r->report->settings);
    if (status == MS_OK)
        status = ms_reading_fields(r, metadata, is_of_model, &r->report->model);
    if (status != MS_OK || !ms_json_find(r->root, "config", &config))
        return status;
    status = ms_json_expect(config, MS_JSON_OBJECT, r->err);
    return status == MS_OK ? ms_reading_fields(r, config, is_any, &r->report->config) : status;
}

const char *ms_report_setting(const ms_report *report, const char *name)
{
    for (uint32_t i = 0; i < report->settings.count; i++)
        if (strcmp(report->settings.items[i].name, name) == 0)
            return report->settings.items[i].value;
    return NULL;
}

uint64_t ms_report_part_bytes(const ms_report_parts *parts, const char *name)
{
    for (uint32_t i = 0; i < parts->count; i++)
        if (strcmp(parts->items[i].name, name) == 0)
            return parts->items[i].bytes;
    return 0;
}

ms_status ms_report_read(ms_arena *arena, ms_json_value root, ms_report *report, ms_error *err)
{
    const ms_reading r = {arena, root, report, err};
    ms_json_value v;
    *report = (ms_report){.name = "", .device = "", .peak_phase = ""};
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = check_version(&r);
    report->is_inference = status == MS_OK && ms_reading_is_inference(root);
    if (report->is_inference)
        return ms_reading_inference(&r);
    if (status == MS_OK)
        status = read_metadata(&r);
    if (status != MS_OK)
        return status;
    report->is_plan = ms_json_find(root, "planner", &v);
    return report->is_plan ? ms_reading_plan(&r) : ms_reading_static(&r);
}
