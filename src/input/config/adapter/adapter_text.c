/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/adapter/adapter_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json/number.h"
#include "base/locale.h"
#include "base/text/values.h"
#include "input/config/adapter/adapter_keys.h"

/* ---- adapter parse ---- */

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the adapter");
}

static const ms_adapter_key *find_short(const char *name, size_t length)
{
    for (const ms_adapter_key *row = ms_adapter_keys; row->name; row++)
        if (row->short_name && strlen(row->short_name) == length &&
            memcmp(row->short_name, name, length) == 0)
            return row;
    return NULL;
}

/* "a+b+c" */
static ms_status split_names(ms_arena *arena, const char *text, ms_module_list *list, ms_error *err)
{
    const char **names = ms_arena_array(arena, const char *, MS_ADAPTER_MOST_NAMES);
    if (!names)
        return no_memory(err);
    *list = (ms_module_list){.names = names};
    for (const char *p = text;; p++) {
        size_t length = strcspn(p, "+");
        if (length == 0 || list->count == MS_ADAPTER_MOST_NAMES)
            return ms_fail(err, MS_ERR_USAGE, "'%.60s': expected names such as q_proj+v_proj",
                           text);
        names[list->count] = ms_arena_printf(arena, "%.*s", (int)length, p);
        if (!names[list->count++])
            return no_memory(err);
        p += length;
        if (!*p)
            return MS_OK;
    }
}

static ms_status split_layers(ms_arena *arena, const char *text, ms_adapter *adapter, ms_error *err)
{
    ms_module_list list;
    ms_status status = split_names(arena, text, &list, err);
    if (status != MS_OK)
        return status;
    uint64_t *layers = ms_arena_array(arena, uint64_t, list.count);
    if (!layers)
        return no_memory(err);
    for (uint32_t i = 0; i < list.count; i++)
        if (ms_number_count(list.names[i], strlen(list.names[i]), &layers[i]) != MS_COUNT_OK)
            return ms_fail(err, MS_ERR_USAGE, "'%.40s' is not a layer; write layers=0+1+2",
                           list.names[i]);
    adapter->layers = layers;
    adapter->layer_count = list.count;
    return MS_OK;
}

static ms_status set_text(ms_arena *arena, const ms_adapter_key *row, const char *text,
                          ms_adapter *adapter, ms_error *err)
{
    void *at = ms_adapter_member(adapter, row);
    int bias = 0;
    ms_status status = MS_OK;
    switch (row->kind) {
    case MS_ADAPTER_KEY_COUNT:
        return ms_value_count(row->short_name, text, 1, MS_ADAPTER_MOST_RANK, at, err);
    case MS_ADAPTER_KEY_FRACTION:
        return ms_value_number(row->short_name, text, 0, 1, "a number from 0 to 1", at, err);
    case MS_ADAPTER_KEY_TARGETS:
        adapter->all_linear = strcmp(text, MS_ADAPTER_ALL_LINEAR) == 0;
        return adapter->all_linear ? MS_OK : split_names(arena, text, at, err);
    case MS_ADAPTER_KEY_MODULES:
    case MS_ADAPTER_KEY_NAMES:
        return split_names(arena, text, at, err);
    case MS_ADAPTER_KEY_LAYERS:
        return split_layers(arena, text, adapter, err);
    case MS_ADAPTER_KEY_BIAS:
        status = ms_value_choice(row->short_name, text, ms_adapter_biases, &bias, err);
        adapter->bias = (ms_adapter_bias)bias;
        return status;
    case MS_ADAPTER_KEY_FLAG:
    case MS_ADAPTER_KEY_PATTERNS:
    case MS_ADAPTER_KEY_RANKS:
    case MS_ADAPTER_KEY_IGNORED:
    case MS_ADAPTER_KEY_REFUSED:
        break;
    }
    return MS_OK;
}

static ms_status fail_part(const char *part, size_t length, ms_error *err)
{
    return ms_fail(err, MS_ERR_USAGE,
                   "'%.*s' is unknown; write r=16, targets=all-linear or q_proj+v_proj, "
                   "dropout=0.05, bias=all, save=lm_head, exclude=..., layers=0+1, dora",
                   (int)(length < 40 ? length : 40), part);
}

/* "key=value" or a flag's name. */
static ms_status read_part(ms_arena *arena, const char *part, size_t length, ms_adapter *adapter,
                           ms_error *err)
{
    const char *equals = memchr(part, '=', length);
    size_t name_length = equals ? (size_t)(equals - part) : length;
    const ms_adapter_key *row = find_short(part, name_length);
    bool is_flag =
        row && (row->kind == MS_ADAPTER_KEY_FLAG || strcmp(row->short_name, "rslora") == 0);
    if (!row || is_flag == (equals != NULL))
        return fail_part(part, length, err);
    if (row->kind == MS_ADAPTER_KEY_FLAG)
        *(bool *)ms_adapter_member(adapter, row) = true;
    if (is_flag)
        return MS_OK;
    char *text = ms_arena_printf(arena, "%.*s", (int)(length - name_length - 1), equals + 1);
    return text ? set_text(arena, row, text, adapter, err) : no_memory(err);
}

ms_status ms_adapter_parse(ms_arena *arena, const char *text, ms_adapter *adapter, ms_error *err)
{
    *adapter = (ms_adapter){.rank = MS_ADAPTER_DEFAULT_RANK};
    ms_status status = ms_value_refuse_twice(text, err);
    for (const char *p = text; status == MS_OK;) {
        size_t length = strcspn(p, ",");
        status = read_part(arena, p, length, adapter, err);
        p += length;
        if (!*p++)
            break;
    }
    return status;
}

/* ---- adapter text ---- */

enum { PART_BYTES = 512 };

/* What is written, as long as nothing has failed. */
typedef struct writer {
    ms_arena *arena;
    const char *text;
} writer;

__attribute__((format(printf, 2, 3))) static void add(writer *w, const char *format, ...)
{
    char part[PART_BYTES];
    va_list args;
    va_start(args, format);
    ms_text_vprint(part, sizeof part, format, args);
    va_end(args);
    if (w->text)
        w->text = ms_arena_printf(w->arena, "%s%s%s", w->text, *w->text ? "," : "", part);
}

static void add_list(writer *w, const char *name, const ms_module_list *list)
{
    char names[PART_BYTES] = ""; /* more would be cut in any case */
    size_t used = 0;
    if (list->pattern) {
        add(w, "%s=/%s/", name, list->pattern);
        return;
    }
    for (uint32_t i = 0; i < list->count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? "+" : "",
                                 list->names[i]);
    if (*names)
        add(w, "%s=%s", name, names);
}

const char *ms_adapter_text(ms_arena *arena, const ms_adapter *adapter)
{
    writer w = {arena, ""};
    if (adapter->kind == MS_ADAPTER_IA3)
        add(&w, "ia3");
    else
        add(&w, "r=%" PRIu64, adapter->rank);
    if (adapter->all_linear)
        add(&w, "targets=all-linear");
    add_list(&w, "targets", &adapter->targets);
    add_list(&w, "exclude", &adapter->exclude);
    add_list(&w, "save", &adapter->saved);
    if (adapter->layer_count > 0)
        add(&w, "%" PRIu32 " layers", adapter->layer_count);
    if (adapter->rank_count > 0)
        add(&w, "%" PRIu32 " rank patterns", adapter->rank_count);
    if (adapter->bias != MS_ADAPTER_BIAS_NONE)
        add(&w, "bias=%s", ms_adapter_biases[adapter->bias]);
    if (adapter->has_bias)
        add(&w, "lora_bias");
    if (adapter->is_dora)
        add(&w, "dora");
    if (adapter->dropout > 0)
        add(&w, "dropout=%g", adapter->dropout);
    add(&w, "%s", ms_dtype_info_of(adapter->dtype)->short_name);
    return w.text;
}
