/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/recorded_ranks.h"

#include <string.h>

/* What captures call it. */
static const struct strategy {
    const char *key, *name;
} strategies[] = {{"fsdp=", "fully_shard"},
                  {"hsdp=", "fully_shard"},
                  {"fsdp1=", "FullyShardedDataParallel"},
                  {"hsdp1=", "FullyShardedDataParallel"},
                  {"zero=1", "DeepSpeed ZeRO 1"},
                  {"zero=2", "DeepSpeed ZeRO 2"},
                  {"zero=3", "DeepSpeed ZeRO 3"},
                  {"dp=", "DistributedDataParallel"}};

/* Whether an item of "tp=2,fsdp=4" begins so. */
static bool has_item(const char *layout, const char *start)
{
    for (const char *at = layout; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, start, strlen(start)) == 0)
            return true;
    }
    return false;
}

/* NULL where there is none, or null. */
static ms_status read_text(ms_json_value v, const char **text, ms_error *err)
{
    return ms_json_kind_of(v) == MS_JSON_NULL ? MS_OK : ms_json_get_string(v, text, err);
}

ms_status ms_recorded_read_layout(ms_recorded_step *step, ms_json_value root, ms_error *err)
{
    ms_json_value v;
    step->data_parallel = "none";
    if (!ms_json_find_pointer(root, "/metadata/parallel", &v))
        return MS_OK;
    ms_status status = read_text(v, &step->layout, err);
    if (status != MS_OK || !step->layout)
        return status;
    step->has_stages = has_item(step->layout, "pp=");
    step->splits_work =
        step->has_stages || has_item(step->layout, "tp=") || has_item(step->layout, "cp=");
    for (size_t i = sizeof strategies / sizeof strategies[0]; i-- > 0;)
        if (has_item(step->layout, strategies[i].key))
            step->data_parallel = strategies[i].name;
    step->knows_resharding = ms_json_find_pointer(root, "/metadata/reshard_after_forward", &v);
    return step->knows_resharding ? ms_json_get_bool(v, &step->reshards, err) : MS_OK;
}

ms_status ms_recorded_read_sharing(ms_recorded_step *step, ms_json_value told, ms_error *err)
{
    ms_json_value v;
    if (!ms_json_find(told, "data_parallel", &v))
        return MS_OK;
    step->data_parallel = "none";
    ms_status status = read_text(v, &step->data_parallel, err);
    step->knows_resharding =
        ms_json_find(told, "reshard_after_forward", &v) && ms_json_kind_of(v) != MS_JSON_NULL;
    return status == MS_OK && step->knows_resharding ? ms_json_get_bool(v, &step->reshards, err)
                                                     : status;
}
