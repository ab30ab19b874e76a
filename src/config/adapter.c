/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys of an adapter, one row each, for PEFT's adapter_config.json and for `--lora`.
 */
#include "config/adapter.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "config/nearest.h"
#include "config/values.h"
#include "json/number.h"

typedef enum key_kind {
    KEY_COUNT,    /* uint64_t, 1 to MOST_RANK */
    KEY_FLAG,     /* bool; in text the word alone */
    KEY_FRACTION, /* double from 0 to below 1 */
    KEY_TARGETS,  /* a list of modules, or a pattern, or "all-linear", or null: the family's */
    KEY_MODULES,  /* a list of modules, or a pattern */
    KEY_NAMES,    /* a list of modules, or one */
    KEY_LAYERS,   /* layer numbers, or one */
    KEY_RANKS,    /* patterns of names with their ranks */
    KEY_BIAS,
    KEY_IGNORED, /* no effect on memory */
    KEY_REFUSED  /* not modelled when it is there and neither null, false nor empty */
} key_kind;

enum { MOST_RANK = 1 << 16, MOST_NAMES = 1024 };

typedef struct key_row {
    const char *name, *short_name; /* in the file, in text; NULL: not in text */
    key_kind kind;
    size_t offset;
    bool lora, ia3; /* which of the two has it */
} key_row;

#define AT(member) offsetof(ms_adapter, member)
/* clang-format off */
static const key_row rows[] = {
    {"r",                       "r",       KEY_COUNT,    AT(rank),           true,  false},
    {"target_modules",          "targets", KEY_TARGETS,  AT(targets),        true,  true},
    {"exclude_modules",         "exclude", KEY_MODULES,  AT(exclude),        true,  true},
    {"feedforward_modules",     NULL,      KEY_NAMES,    AT(feedforward),    false, true},
    {"modules_to_save",         "save",    KEY_NAMES,    AT(saved),          true,  true},
    {"layers_to_transform",     "layers",  KEY_LAYERS,   AT(layers),         true,  false},
    {"layers_pattern",          NULL,      KEY_NAMES,    AT(layers_pattern), true,  false},
    {"rank_pattern",            NULL,      KEY_RANKS,    AT(ranks),          true,  false},
    {"bias",                    "bias",    KEY_BIAS,     AT(bias),           true,  false},
    {"lora_bias",               NULL,      KEY_FLAG,     AT(has_bias),       true,  false},
    {"use_dora",                "dora",    KEY_FLAG,     AT(is_dora),        true,  false},
    {"lora_dropout",            "dropout", KEY_FRACTION, AT(dropout),        true,  false},
    {"lora_alpha",              "alpha",   KEY_IGNORED,  0,                  true,  false},
    {"use_rslora",              "rslora",  KEY_IGNORED,  0,                  true,  false},
    {"target_parameters",       NULL,      KEY_REFUSED,  0,                  true,  false},
    {"trainable_token_indices", NULL,      KEY_REFUSED,  0,                  true,  false},
    {"layer_replication",       NULL,      KEY_REFUSED,  0,                  true,  false},
    {"ensure_weight_tying",     NULL,      KEY_REFUSED,  0,                  true,  false},
    {"megatron_config",         NULL,      KEY_REFUSED,  0,                  true,  false},
    {"alora_invocation_tokens", NULL,      KEY_REFUSED,  0,                  true,  false},
    {"use_qalora",              NULL,      KEY_REFUSED,  0,                  true,  false},
    {"use_bdlora",              NULL,      KEY_REFUSED,  0,                  true,  false},
    {"arrow_config",            NULL,      KEY_REFUSED,  0,                  true,  false},
    {"velora_config",           NULL,      KEY_REFUSED,  0,                  true,  false},
    {"monteclora_config",       NULL,      KEY_REFUSED,  0,                  true,  false},
    {"kasa_config",             NULL,      KEY_REFUSED,  0,                  true,  false},
};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof rows[0] };

static const char *const biases[] = {"none", "all", "lora_only", NULL};
static const char all_linear[] = "all-linear";

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the adapter");
}

static void *member(ms_adapter *adapter, const key_row *row)
{
    return (char *)adapter + row->offset;
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

static ms_status get_modules(ms_arena *arena, ms_json_value value, ms_module_list *list,
                             ms_error *err)
{
    if (ms_json_kind_of(value) != MS_JSON_STRING)
        return get_names(arena, value, list, err);
    return copy_string(arena, value, &list->pattern, err);
}

static ms_status get_targets(ms_arena *arena, ms_json_value value, ms_adapter *adapter,
                             ms_error *err)
{
    ms_status status = get_modules(arena, value, &adapter->targets, err);
    const char *pattern = adapter->targets.pattern;
    if (status == MS_OK && pattern && ms_name_equal(pattern, all_linear)) {
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
    for (bool more = ms_json_first(value, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        ms_adapter_rank *row = &ranks[adapter->rank_count++];
        row->pattern = ms_arena_strdup(arena, ms_json_key(v));
        status =
            row->pattern ? ms_json_get_count(v, 1, MOST_RANK, &row->rank, err) : no_memory(err);
    }
    return status;
}

static ms_status get_bias(ms_json_value value, ms_adapter *adapter, ms_error *err)
{
    const char *text = NULL;
    ms_status status = ms_json_get_string(value, &text, err);
    for (int i = 0; status == MS_OK && biases[i]; i++)
        if (strcmp(biases[i], text) == 0) {
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

static ms_status get_value(ms_arena *arena, ms_json_value value, const key_row *row,
                           ms_adapter *adapter, ms_error *err)
{
    switch (row->kind) {
    case KEY_COUNT:
        return ms_json_get_count(value, 1, MOST_RANK, member(adapter, row), err);
    case KEY_FLAG:
        return ms_json_get_bool(value, member(adapter, row), err);
    case KEY_FRACTION:
        return ms_json_get_number(value, 0, 1, member(adapter, row), err);
    case KEY_TARGETS:
        return get_targets(arena, value, adapter, err);
    case KEY_MODULES:
        return get_modules(arena, value, member(adapter, row), err);
    case KEY_NAMES:
        return get_names(arena, value, member(adapter, row), err);
    case KEY_LAYERS:
        return get_layers(arena, value, adapter, err);
    case KEY_RANKS:
        return get_ranks(arena, value, adapter, err);
    case KEY_BIAS:
        return get_bias(value, adapter, err);
    case KEY_REFUSED:
        if (!says_nothing(value))
            return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "is not modelled");
        break;
    case KEY_IGNORED:
        break;
    }
    return MS_OK;
}

static bool has_row(const key_row *row, ms_adapter_kind kind)
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
                              "'%.40s' is not modelled; LORA and IA3 are", text);
    return status;
}

enum { DEFAULT_RANK = 8 }; /* PEFT's */

ms_status ms_adapter_read(ms_arena *arena, ms_json_value root, ms_adapter *adapter, ms_error *err)
{
    *adapter = (ms_adapter){.rank = DEFAULT_RANK};
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = read_kind(root, adapter, err);
    for (size_t i = 0; i < ROWS && status == MS_OK; i++) {
        ms_json_value value;
        if (has_row(&rows[i], adapter->kind) && ms_json_find(root, rows[i].name, &value) &&
            ms_json_kind_of(value) != MS_JSON_NULL)
            status = get_value(arena, value, &rows[i], adapter, err);
    }
    return status;
}

/* ---- from text ---- */

static const key_row *find_short(const char *name, size_t length)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].short_name && strlen(rows[i].short_name) == length &&
            memcmp(rows[i].short_name, name, length) == 0)
            return &rows[i];
    return NULL;
}

/* "a+b+c" */
static ms_status split_names(ms_arena *arena, const char *text, ms_module_list *list, ms_error *err)
{
    const char **names = ms_arena_array(arena, const char *, MOST_NAMES);
    if (!names)
        return no_memory(err);
    *list = (ms_module_list){.names = names};
    for (const char *p = text;; p++) {
        size_t length = strcspn(p, "+");
        if (length == 0 || list->count == MOST_NAMES)
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
            return ms_fail(err, MS_ERR_USAGE, "'%.40s' is no layer; write layers=0+1+2",
                           list.names[i]);
    adapter->layers = layers;
    adapter->layer_count = list.count;
    return MS_OK;
}

static ms_status set_text(ms_arena *arena, const key_row *row, const char *text,
                          ms_adapter *adapter, ms_error *err)
{
    void *at = member(adapter, row);
    int bias = 0;
    ms_status status = MS_OK;
    switch (row->kind) {
    case KEY_COUNT:
        return ms_value_count(row->short_name, text, 1, MOST_RANK, at, err);
    case KEY_FRACTION:
        return ms_value_number(row->short_name, text, 0, 1, "a number from 0 to 1", at, err);
    case KEY_TARGETS:
        adapter->all_linear = strcmp(text, all_linear) == 0;
        return adapter->all_linear ? MS_OK : split_names(arena, text, at, err);
    case KEY_MODULES:
    case KEY_NAMES:
        return split_names(arena, text, at, err);
    case KEY_LAYERS:
        return split_layers(arena, text, adapter, err);
    case KEY_BIAS:
        status = ms_value_choice(row->short_name, text, biases, &bias, err);
        adapter->bias = (ms_adapter_bias)bias;
        return status;
    case KEY_FLAG:
    case KEY_RANKS:
    case KEY_IGNORED:
    case KEY_REFUSED:
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
    const key_row *row = find_short(part, name_length);
    bool is_flag = row && (row->kind == KEY_FLAG || strcmp(row->short_name, "rslora") == 0);
    if (!row || is_flag == (equals != NULL))
        return fail_part(part, length, err);
    if (row->kind == KEY_FLAG)
        *(bool *)member(adapter, row) = true;
    if (is_flag)
        return MS_OK;
    char *text = ms_arena_printf(arena, "%.*s", (int)(length - name_length - 1), equals + 1);
    return text ? set_text(arena, row, text, adapter, err) : no_memory(err);
}

ms_status ms_adapter_parse(ms_arena *arena, const char *text, ms_adapter *adapter, ms_error *err)
{
    *adapter = (ms_adapter){.rank = DEFAULT_RANK};
    ms_status status = MS_OK;
    for (const char *p = text; status == MS_OK;) {
        size_t length = strcspn(p, ",");
        status = read_part(arena, p, length, adapter, err);
        p += length;
        if (!*p++)
            break;
    }
    return status;
}
