/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys of an adapter, one row each, and the reader of PEFT's adapter_config.json.
 */
#include "input/config/adapter/adapter.h"

#include <stddef.h>
#include <string.h>

#include "input/config/adapter/adapter_keys.h"
#include "base/text/nearest.h"
#include "base/text/pattern.h"

#define AT(member) offsetof(ms_adapter, member)
/* clang-format off */
const ms_adapter_key ms_adapter_keys[] = {
    {"r",                       "r",       MS_ADAPTER_KEY_COUNT,    AT(rank),           true,  false},
    {"target_modules",          "targets", MS_ADAPTER_KEY_TARGETS,  AT(targets),        true,  true},
    {"exclude_modules",         "exclude", MS_ADAPTER_KEY_MODULES,  AT(exclude),        true,  true},
    {"feedforward_modules",     NULL,      MS_ADAPTER_KEY_NAMES,    AT(feedforward),    false, true},
    {"modules_to_save",         "save",    MS_ADAPTER_KEY_NAMES,    AT(saved),          true,  true},
    {"layers_to_transform",     "layers",  MS_ADAPTER_KEY_LAYERS,   AT(layers),         true,  false},
    {"layers_pattern",          NULL,      MS_ADAPTER_KEY_PATTERNS, AT(layers_pattern), true,  false},
    {"rank_pattern",            NULL,      MS_ADAPTER_KEY_RANKS,    AT(ranks),          true,  false},
    {"bias",                    "bias",    MS_ADAPTER_KEY_BIAS,     AT(bias),           true,  false},
    {"lora_bias",               NULL,      MS_ADAPTER_KEY_FLAG,     AT(has_bias),       true,  false},
    {"use_dora",                "dora",    MS_ADAPTER_KEY_FLAG,     AT(is_dora),        true,  false},
    {"lora_dropout",            "dropout", MS_ADAPTER_KEY_FRACTION, AT(dropout),        true,  false},
    {"lora_alpha",              "alpha",   MS_ADAPTER_KEY_IGNORED,  0,                  true,  false},
    {"use_rslora",              "rslora",  MS_ADAPTER_KEY_IGNORED,  0,                  true,  false},
    {"target_parameters",       NULL,      MS_ADAPTER_KEY_REFUSED,  0,                  true,  false},
    {"trainable_token_indices", NULL,      MS_ADAPTER_KEY_REFUSED,  0,                  true,  false},
    {"layer_replication",       NULL,      MS_ADAPTER_KEY_REFUSED,  0,                  true,  false},
    {"ensure_weight_tying",     NULL,      MS_ADAPTER_KEY_REFUSED,  0,                  true,  false},
    {"megatron_config",         NULL,      MS_ADAPTER_KEY_REFUSED,  0,                  true,  false},
    {"alora_invocation_tokens", NULL,      MS_ADAPTER_KEY_REFUSED,  0,                  true,  false},
    {"use_qalora",              NULL,      MS_ADAPTER_KEY_REFUSED,  0,                  true,  false},
    {"use_bdlora",              NULL,      MS_ADAPTER_KEY_REFUSED,  0,                  true,  false},
    {"arrow_config",            NULL,      MS_ADAPTER_KEY_REFUSED,  0,                  true,  false},
    {"velora_config",           NULL,      MS_ADAPTER_KEY_REFUSED,  0,                  true,  false},
    {"monteclora_config",       NULL,      MS_ADAPTER_KEY_REFUSED,  0,                  true,  false},
    {"kasa_config",             NULL,      MS_ADAPTER_KEY_REFUSED,  0,                  true,  false},
    {NULL,                      NULL,      MS_ADAPTER_KEY_IGNORED,  0,                  false, false},
};
/* clang-format on */

const char *const ms_adapter_biases[] = {"none", "all", "lora_only", NULL};

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the adapter");
}

/* ---- from JSON ---- */

static ms_status copy_string(ms_arena *arena, ms_json_value value, const char **out, ms_error *err)
{
    const char *text = NULL;
    ms_status status = ms_json_get_string(value, &text, err);
    if (status != MS_OK)
        return status;
    if (!*text)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "an empty name");
    *out = ms_arena_strdup(arena, text);
    return *out ? MS_OK : no_memory(err);
}

/* A list of names; one alone is a list of one. */
static ms_status get_names(ms_arena *arena, ms_json_value value, ms_module_list *list,
                           ms_error *err)
{
    bool is_one = ms_json_kind_of(value) == MS_JSON_STRING;
    ms_status status = is_one ? MS_OK : ms_json_expect(value, MS_JSON_ARRAY, err);
    if (status != MS_OK)
        return status;
    uint32_t count = is_one ? 1 : ms_json_length(value);
    const char **names = ms_arena_array(arena, const char *, count + 1);
    if (!names)
        return no_memory(err);
    *list = (ms_module_list){.names = names};
    if (is_one) {
        list->count = 1;
        return copy_string(arena, value, &names[0], err);
    }
    ms_json_value v;
    for (bool more = ms_json_first(value, &v); more && status == MS_OK; more = ms_json_next(&v))
        status = copy_string(arena, v, &names[list->count++], err);
    return status;
}

/* Names that are patterns. */
static ms_status get_patterns(ms_arena *arena, ms_json_value value, ms_module_list *list,
                              ms_error *err)
{
    size_t states = 0;
    ms_json_value v = value;
    ms_status status = get_names(arena, value, list, err);
    bool more = ms_json_kind_of(value) == MS_JSON_STRING || ms_json_first(value, &v);
    for (uint32_t i = 0; more && i < list->count && status == MS_OK; i++) {
        status = ms_pattern_check(v, MS_JSON_AT_VALUE, list->names[i], &states, err);
        more = i + 1 < list->count && ms_json_next(&v);
    }
    return status;
}

static ms_status get_modules(ms_arena *arena, ms_json_value value, ms_module_list *list,
                             ms_error *err)
{
    if (ms_json_kind_of(value) != MS_JSON_STRING)
        return get_names(arena, value, list, err);
    size_t states = 0;
    ms_status status = copy_string(arena, value, &list->pattern, err);
    return status == MS_OK ? ms_pattern_check(value, MS_JSON_AT_VALUE, list->pattern, &states, err)
                           : status;
}

static ms_status get_targets(ms_arena *arena, ms_json_value value, ms_adapter *adapter,
                             ms_error *err)
{
    ms_status status = get_modules(arena, value, &adapter->targets, err);
    const char *pattern = adapter->targets.pattern;
    if (status == MS_OK && !pattern && adapter->targets.count == 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "no targets; PEFT uses the family's own if the key is omitted");
    if (status == MS_OK && pattern && ms_name_equal(pattern, MS_ADAPTER_ALL_LINEAR)) {
        adapter->targets.pattern = NULL;
        adapter->all_linear = true;
    }
    return status;
}

static ms_status get_layers(ms_arena *arena, ms_json_value value, ms_adapter *adapter,
                            ms_error *err)
{
    bool is_one = ms_json_kind_of(value) == MS_JSON_NUMBER;
    ms_status status = is_one ? MS_OK : ms_json_expect(value, MS_JSON_ARRAY, err);
    if (status != MS_OK)
        return status;
    uint64_t *layers = ms_arena_array(arena, uint64_t, is_one ? 1 : ms_json_length(value) + 1);
    if (!layers)
        return no_memory(err);
    adapter->layers = layers;
    adapter->layer_count = is_one;
    if (is_one)
        return ms_json_get_count(value, 0, UINT32_MAX, layers, err);
    ms_json_value v;
    for (bool more = ms_json_first(value, &v); more && status == MS_OK; more = ms_json_next(&v))
        status = ms_json_get_count(v, 0, UINT32_MAX, &layers[adapter->layer_count++], err);
    return status;
}

static ms_status get_ranks(ms_arena *arena, ms_json_value value, ms_adapter *adapter, ms_error *err)
{
    ms_json_value v;
    ms_status status = ms_json_expect(value, MS_JSON_OBJECT, err);
    if (status != MS_OK)
        return status;
    ms_adapter_rank *ranks = ms_arena_array(arena, ms_adapter_rank, ms_json_length(value) + 1);
    if (!ranks)
        return no_memory(err);
    adapter->ranks = ranks;
    size_t states = 0;
    for (bool more = ms_json_first(value, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        ms_adapter_rank *row = &ranks[adapter->rank_count++];
        row->pattern = ms_arena_strdup(arena, ms_json_key(v));
        status = row->pattern ? ms_json_get_count(v, 1, MS_ADAPTER_MOST_RANK, &row->rank, err)
                              : no_memory(err);
        if (status == MS_OK)
            status = ms_pattern_check(v, MS_JSON_AT_KEY, row->pattern, &states, err);
    }
    return status;
}

static ms_status get_bias(ms_json_value value, ms_adapter *adapter, ms_error *err)
{
    const char *text = NULL;
    ms_status status = ms_json_get_string(value, &text, err);
    for (int i = 0; status == MS_OK && ms_adapter_biases[i]; i++)
        if (strcmp(ms_adapter_biases[i], text) == 0) {
            adapter->bias = (ms_adapter_bias)i;
            return MS_OK;
        }
    if (status == MS_OK)
        status = ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                              "'%.40s': expected none, all or lora_only", text);
    return status;
}

static bool says_nothing(ms_json_value value)
{
    ms_json_value child;
    bool truth = true;
    switch (ms_json_kind_of(value)) {
    case MS_JSON_NULL:
        return true;
    case MS_JSON_BOOL:
        (void)ms_json_get_bool(value, &truth, NULL);
        return !truth;
    case MS_JSON_ARRAY:
    case MS_JSON_OBJECT:
        return !ms_json_first(value, &child);
    case MS_JSON_NUMBER:
    case MS_JSON_STRING:
        break;
    }
    return false;
}

static ms_status get_value(ms_arena *arena, ms_json_value value, const ms_adapter_key *row,
                           ms_adapter *adapter, ms_error *err)
{
    switch (row->kind) {
    case MS_ADAPTER_KEY_COUNT:
        return ms_json_get_count(value, 1, MS_ADAPTER_MOST_RANK, ms_adapter_member(adapter, row),
                                 err);
    case MS_ADAPTER_KEY_FLAG:
        return ms_json_get_bool(value, ms_adapter_member(adapter, row), err);
    case MS_ADAPTER_KEY_FRACTION:
        return ms_json_get_number(value, 0, 1, ms_adapter_member(adapter, row), err);
    case MS_ADAPTER_KEY_TARGETS:
        return get_targets(arena, value, adapter, err);
    case MS_ADAPTER_KEY_MODULES:
        return get_modules(arena, value, ms_adapter_member(adapter, row), err);
    case MS_ADAPTER_KEY_NAMES:
        return get_names(arena, value, ms_adapter_member(adapter, row), err);
    case MS_ADAPTER_KEY_PATTERNS:
        return get_patterns(arena, value, ms_adapter_member(adapter, row), err);
    case MS_ADAPTER_KEY_LAYERS:
        return get_layers(arena, value, adapter, err);
    case MS_ADAPTER_KEY_RANKS:
        return get_ranks(arena, value, adapter, err);
    case MS_ADAPTER_KEY_BIAS:
        return get_bias(value, adapter, err);
    case MS_ADAPTER_KEY_REFUSED:
        if (!says_nothing(value))
            return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "is not supported");
        break;
    case MS_ADAPTER_KEY_IGNORED:
        break;
    }
    return MS_OK;
}

static bool has_row(const ms_adapter_key *row, ms_adapter_kind kind)
{
    return kind == MS_ADAPTER_LORA ? row->lora : row->ia3;
}

static ms_status read_kind(ms_json_value root, ms_adapter *adapter, ms_error *err)
{
    static const char *const names[] = {[MS_ADAPTER_LORA] = "LORA", [MS_ADAPTER_IA3] = "IA3"};
    ms_json_value value;
    const char *text = NULL;
    if (!ms_json_find(root, "peft_type", &value))
        return ms_json_fail(err, root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "no \"peft_type\": not an adapter_config.json of PEFT");
    ms_status status = ms_json_get_string(value, &text, err);
    for (int i = 0; status == MS_OK && i < MS_ADAPTER_KIND_COUNT; i++)
        if (strcmp(names[i], text) == 0) {
            adapter->kind = (ms_adapter_kind)i;
            return MS_OK;
        }
    if (status == MS_OK)
        status = ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                              "'%.40s' is not supported; LORA and IA3 are", text);
    return status;
}

ms_status ms_adapter_read(ms_arena *arena, ms_json_value root, ms_adapter *adapter, ms_error *err)
{
    *adapter = (ms_adapter){.rank = MS_ADAPTER_DEFAULT_RANK};
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = read_kind(root, adapter, err);
    for (const ms_adapter_key *row = ms_adapter_keys; row->name && status == MS_OK; row++) {
        ms_json_value value;
        if (has_row(row, adapter->kind) && ms_json_find(root, row->name, &value) &&
            ms_json_kind_of(value) != MS_JSON_NULL)
            status = get_value(arena, value, row, adapter, err);
    }
    return status;
}
