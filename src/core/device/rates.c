/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/device/rates.h"

#include <stdio.h>
#include <string.h>

#include "base/json/embedded.h"
#include "base/json/value.h"

const char *const ms_rate_names[] = {
    [MS_RATE_PRODUCT_SHARE] = "product_share",
    [MS_RATE_PRODUCT_TRAFFIC] = "product_traffic",
    [MS_RATE_ATTENTION_FORWARD_SHARE] = "attention_forward_share",
    [MS_RATE_ATTENTION_BACKWARD_SHARE] = "attention_backward_share",
    [MS_RATE_ATTENTION_TRAFFIC] = "attention_traffic",
    [MS_RATE_MEMORY_SHARE] = "memory_share",
    [MS_RATE_KERNEL_US] = "kernel_us",
    [MS_RATE_STEP_SHARE] = "step_share",
    [MS_RATE_HOST_LINK_SHARE] = "host_link_share",
    [MS_RATE_PAGEABLE_GB_PER_S] = "pageable_gb_per_s",
};
_Static_assert(sizeof ms_rate_names / sizeof ms_rate_names[0] == MS_RATE_COUNT,
               "a figure has no name");

/* How near a row is to the device. */
typedef enum nearness { NOT_MEANT, ANY_DEVICE, OF_ITS_KIND, ITSELF } nearness;

typedef struct search {
    ms_arena *arena;
    const ms_device *device;
    char capability[16]; /* "8.0", or "rocm" */
    ms_rates *rates;
    nearness nearest[MS_RATE_COUNT];
} search;

static ms_status get_text(ms_json_value row, const char *key, const char **text, ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_get_member(row, key, &v, err);
    return status == MS_OK ? ms_json_get_string(v, text, err) : status;
}

/* Sets *is_there if the list of names has it. */
static ms_status look_in(ms_json_value row, const char *key, const char *name, bool *is_there,
                         ms_error *err)
{
    ms_json_value list, v;
    ms_status status = ms_json_get_list(row, key, &list, err);
    *is_there = false;
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        const char *text = "";
        status = ms_json_get_string(v, &text, err);
        *is_there = *is_there || strcmp(text, name) == 0;
    }
    return status;
}

static ms_status find_nearness(const search *s, ms_json_value row, nearness *found, ms_error *err)
{
    bool is_own = false, is_kind = false, is_any = false;
    ms_status status = look_in(row, "devices", s->device->name, &is_own, err);
    if (status == MS_OK)
        status = look_in(row, "capabilities", s->capability, &is_kind, err);
    if (status == MS_OK)
        status = look_in(row, "capabilities", "any", &is_any, err);
    *found = is_own ? ITSELF : is_kind ? OF_ITS_KIND : is_any ? ANY_DEVICE : NOT_MEANT;
    return status;
}

static ms_status find_figure(ms_json_value row, ms_rate_figure *figure, ms_error *err)
{
    const char *name = NULL;
    ms_status status = get_text(row, "figure", &name, err);
    if (status != MS_OK)
        return status;
    for (int i = 0; i < MS_RATE_COUNT; i++)
        if (strcmp(ms_rate_names[i], name) == 0) {
            *figure = (ms_rate_figure)i;
            return MS_OK;
        }
    return ms_json_fail(err, row, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "unknown figure '%.40s'", name);
}

static ms_status keep(const search *s, ms_json_value row, ms_rate *rate, ms_error *err)
{
    ms_json_value v;
    const char *measured = NULL, *source = NULL;
    ms_status status = ms_json_get_member(row, "value", &v, err);
    if (status == MS_OK)
        status = ms_json_get_number(v, 1e-6, 1e6, &rate->value, err);
    if (status == MS_OK)
        status = get_text(row, "measured", &measured, err);
    if (status == MS_OK)
        status = get_text(row, "source", &source, err);
    if (status != MS_OK)
        return status;
    rate->measured = ms_arena_strdup(s->arena, measured);
    rate->source = ms_arena_strdup(s->arena, source);
    return rate->measured && rate->source ? MS_OK
                                          : ms_fail(err, MS_ERR_NOMEM, "out of memory for rates");
}

static ms_status take_row(search *s, ms_json_value row, ms_error *err)
{
    ms_rate_figure figure = MS_RATE_COUNT;
    nearness found = NOT_MEANT;
    ms_status status = find_figure(row, &figure, err);
    if (status == MS_OK)
        status = find_nearness(s, row, &found, err);
    if (status != MS_OK || found <= s->nearest[figure])
        return status;
    s->nearest[figure] = found;
    s->rates->figures[figure].is_own = found == ITSELF;
    return keep(s, row, &s->rates->figures[figure], err);
}

static ms_status take_rows(search *s, ms_json_value root, ms_error *err)
{
    ms_json_value list, v;
    ms_status status = ms_json_get_list(root, "rates", &list, err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v))
        status = take_row(s, v, err);
    for (int i = 0; i < MS_RATE_COUNT && status == MS_OK; i++)
        if (s->nearest[i] == NOT_MEANT)
            status = ms_json_fail(err, list, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                  "no %s for %.40s, nor for any device", ms_rate_names[i],
                                  s->device->name);
    return status;
}

static void name_capability(search *s)
{
    uint32_t capability = s->device->compute_capability;
    if (capability > 0)
        snprintf(s->capability, sizeof s->capability, "%u.%u", capability / 10, capability % 10);
    else
        snprintf(s->capability, sizeof s->capability, "rocm");
}

ms_status ms_rates_find(ms_arena *arena, const ms_device *device, const ms_rates **rates,
                        ms_error *err)
{
    const ms_embedded *file = ms_embedded_find("rates");
    search s = {.arena = arena, .device = device};
    *rates = NULL;
    if (device->is_cpu)
        return MS_OK;
    if (!file)
        return ms_fail(err, MS_ERR_INTERNAL, "the table of rates is not built in");
    if (!(s.rates = ms_arena_array(arena, ms_rates, 1)))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for rates");
    name_capability(&s);
    ms_json_source source = {"configs/rates.json", file->text, file->length};
    ms_json *document = NULL;
    ms_status status = ms_json_parse(&source, &document, err);
    if (status == MS_OK)
        status = take_rows(&s, ms_json_root(document), err);
    ms_json_free(document);
    *rates = status == MS_OK ? s.rates : NULL;
    return status;
}

void ms_rates_apply(const ms_rates *rates, ms_device *device)
{
    device->rates = rates;
    device->host_link_bytes_per_s *= rates->figures[MS_RATE_HOST_LINK_SHARE].value;
}
