/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/step_places.h"

ms_status ms_placed_text(const ms_placed *placed, const char **text, ms_error *err)
{
    if (!placed->is_there)
        return ms_json_fail(err, placed->at, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "no %s in it",
                            placed->pointer);
    return ms_json_get_string(placed->at, text, err);
}

ms_status ms_placed_number(const ms_placed *placed, bool must, double *number, ms_error *err)
{
    if (placed->is_there && ms_json_kind_of(placed->at) != MS_JSON_NULL)
        return ms_json_get_number(placed->at, 0, MS_MEASURED_MOST, number, err);
    return must ? ms_json_fail(err, placed->root, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "no %s in it",
                               placed->pointer)
                : MS_OK;
}

static ms_placed find(ms_json_value root, const char *pointer)
{
    ms_placed placed = {.pointer = pointer, .root = root, .at = root};
    placed.is_there = ms_json_find_pointer(root, pointer, &placed.at);
    if (!placed.is_there)
        placed.at = root;
    return placed;
}

/* What says how, or the line of the metadata. */
static ms_placed find_calibration(ms_json_value root)
{
    ms_placed placed = find(root, "/calibration");
    return placed.is_there ? placed : find(root, "/metadata/calibration");
}

ms_predicted_step ms_predicted_step_find(ms_json_value root)
{
    return (ms_predicted_step){
        .root = root,
        .device = find(root, "/metadata/device"),
        .calibration = find_calibration(root),
        .reserved_bytes = find(root, "/summary/reserved_memory_bytes"),
        .exposed_copy_ms = find(root, "/summary/exposed_copy_ms"),
        .step_time_ms = find(root, "/summary/step_time_ms"),
        .roofline_product_ms = find(root, "/times/roofline_ms/product"),
        .roofline_attention_ms = find(root, "/times/roofline_ms/attention"),
        .roofline_other_ms = find(root, "/times/roofline_ms/other"),
    };
}

ms_measured_step ms_measured_step_find(ms_json_value root)
{
    return (ms_measured_step){
        .mode = find(root, "/metadata/mode"),
        .outcome = find(root, "/outcome"),
        .device_title = find(root, "/metadata/device_title"),
        .device_bytes = find(root, "/metadata/device_bytes"),
        .reserved_bytes = find(root, "/summary/reserved_memory_bytes"),
        .device_used_bytes = find(root, "/summary/device_used_bytes"),
        .step_time_ms = find(root, "/summary/step_time_ms"),
    };
}
