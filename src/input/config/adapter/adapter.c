/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys of an adapter, one row each, and the reader of PEFT's adapter_config.json.
 */
#include "input/config/adapter/adapter.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/nearest.h"
#include "base/text/pattern.h"
#include "base/text/plain_names.h"
#include "input/config/adapter/adapter_keys.h"
#include "input/config/model/family_facts.h"

/* ---- adapter ---- */

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
        return ms_json_fail(
            err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
            "there are no targets; if the key is omitted, PEFT uses the family's defaults");
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
                            "it has no \"peft_type\", so it is not an adapter_config.json of PEFT");
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

/* ---- adapter defaults ---- */

static ms_module_list list_of(const char *const *names)
{
    ms_module_list list = {.names = names};
    while (names[list.count])
        list.count++;
    return list;
}

void ms_adapter_defaults(const ms_family *family, ms_adapter_kind kind, ms_module_list lists[2])
{
    const ms_peft_facts *peft = &ms_family_facts_of(family)->peft;
    const bool is_lora = kind == MS_ADAPTER_LORA;
    lists[0] = list_of(is_lora ? peft->lora : peft->ia3);
    lists[0].pattern = is_lora ? peft->lora_pattern : NULL;
    lists[1] = kind == MS_ADAPTER_IA3 ? list_of(peft->ia3_inputs) : (ms_module_list){0};
}

const char *ms_adapter_usual_targets(const ms_family *family)
{
    const ms_peft_facts *peft = &ms_family_facts_of(family)->peft;
    if (peft->lora[0] || peft->lora_pattern)
        return NULL;
    return peft->usual_lora ? peft->usual_lora : "q_proj+v_proj";
}

/* ---- adapter match ---- */

/* Which modules an adapter applies to, by PEFT 0.21's rules: a name matches a list if it
 * equals an entry or ends in "." and an entry; a pattern must match the whole name. */

/* A list of modules, ready to be searched. */
typedef struct module_set {
    ms_plain_names *names;
    ms_pattern *pattern; /* NULL: by names */
} module_set;

/* Patterns of names' ends: those without operators together, the others one by one. */
typedef struct end_patterns {
    ms_plain_names *plain;
    ms_pattern **patterns; /* one for each text; NULL for plain ones */
    uint32_t count;
} end_patterns;

struct ms_adapter_matcher {
    const ms_adapter *adapter;
    module_set targets, feedforward, exclude, saved;
    end_patterns ranks, lists;
    uint64_t *layers; /* in order */
    uint64_t steps;   /* that matching may still take */
};

/* ---- building ---- */

static ms_status adapter_match_no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the adapter");
}

static ms_status compile_set(const ms_module_list *list, module_set *set, ms_error *err)
{
    ms_status status = ms_plain_names_new(list->names, list->count, &set->names, err);
    return status == MS_OK && list->pattern ? ms_pattern_new(list->pattern, &set->pattern, err)
                                            : status;
}

static void free_set(module_set *set)
{
    ms_plain_names_free(set->names);
    ms_pattern_free(set->pattern);
}

/* Takes the texts' place: those with operators become NULL. */
static ms_status compile_ends(const char **texts, uint32_t count, end_patterns *ends, ms_error *err)
{
    ms_status status = MS_OK;
    ends->patterns = calloc((size_t)count + 1, sizeof(ms_pattern *));
    if (!ends->patterns)
        return adapter_match_no_memory(err);
    ends->count = count;
    for (uint32_t i = 0; i < count && status == MS_OK; i++)
        if (!ms_name_is_plain(texts[i])) {
            status = ms_pattern_new(texts[i], &ends->patterns[i], err);
            texts[i] = NULL;
        }
    return status == MS_OK ? ms_plain_names_new(texts, count, &ends->plain, err) : status;
}

static void free_ends(end_patterns *ends)
{
    ms_plain_names_free(ends->plain);
    for (uint32_t i = 0; i < ends->count; i++)
        ms_pattern_free(ends->patterns[i]);
    free(ends->patterns);
}

static ms_status compile_patterns(ms_adapter_matcher *m, ms_error *err)
{
    const ms_adapter *a = m->adapter;
    uint32_t lists = a->layers_pattern.count;
    const char **texts = calloc((size_t)a->rank_count + lists + 1, sizeof *texts);
    if (!texts)
        return adapter_match_no_memory(err);
    for (uint32_t i = 0; i < a->rank_count; i++)
        texts[i] = a->ranks[i].pattern;
    for (uint32_t i = 0; i < lists; i++)
        texts[a->rank_count + i] = a->layers_pattern.names[i];
    ms_status status = compile_ends(texts, a->rank_count, &m->ranks, err);
    if (status == MS_OK)
        status = compile_ends(texts + a->rank_count, lists, &m->lists, err);
    free(texts);
    return status;
}

static int compare_layers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static ms_status sort_layers(ms_adapter_matcher *m, ms_error *err)
{
    uint32_t count = m->adapter->layer_count;
    m->layers = calloc((size_t)count + 1, sizeof *m->layers);
    if (!m->layers)
        return adapter_match_no_memory(err);
    for (uint32_t i = 0; i < count; i++)
        m->layers[i] = m->adapter->layers[i];
    qsort(m->layers, count, sizeof *m->layers, compare_layers);
    return MS_OK;
}

ms_status ms_adapter_matcher_new(const ms_adapter *adapter, const ms_family *family,
                                 ms_adapter_matcher **matcher, ms_error *err)
{
    ms_module_list defaults[2];
    ms_adapter_defaults(family, adapter->kind, defaults);
    bool has_targets = adapter->targets.count > 0 || adapter->targets.pattern;
    ms_adapter_matcher *m = calloc(1, sizeof *m);
    *matcher = m;
    if (!m)
        return adapter_match_no_memory(err);
    m->adapter = adapter;
    m->steps = MS_PATTERN_MOST_STEPS;
    const ms_module_list *targets =
        has_targets || adapter->all_linear ? &adapter->targets : &defaults[0];
    const ms_module_list *feedforward =
        adapter->feedforward.names ? &adapter->feedforward : &defaults[1];
    ms_status status = compile_set(targets, &m->targets, err);
    if (status == MS_OK)
        status = compile_set(feedforward, &m->feedforward, err);
    if (status == MS_OK)
        status = compile_set(&adapter->exclude, &m->exclude, err);
    if (status == MS_OK)
        status = compile_set(&adapter->saved, &m->saved, err);
    if (status == MS_OK)
        status = compile_patterns(m, err);
    return status == MS_OK ? sort_layers(m, err) : status;
}

void ms_adapter_matcher_free(ms_adapter_matcher *m)
{
    if (!m)
        return;
    free_set(&m->targets);
    free_set(&m->feedforward);
    free_set(&m->exclude);
    free_set(&m->saved);
    free_ends(&m->ranks);
    free_ends(&m->lists);
    free(m->layers);
    free(m);
}

/* ---- names ---- */

/* Steps through the ends of a name that begin with a whole part: the name itself, then what
 * follows each point. */
static const char *next_end(const char *end, const char *stop)
{
    const char *point = memchr(end, '.', (size_t)(stop - end));
    return point ? point + 1 : NULL;
}

static bool list_has(const ms_plain_names *names, const char *name, size_t length)
{
    for (const char *end = name; end; end = next_end(end, name + length))
        if (ms_plain_names_find(names, end, (size_t)(name + length - end)) != MS_NO_NAME)
            return true;
    return false;
}

static bool is_listed(ms_adapter_matcher *m, const module_set *set, const char *name)
{
    size_t length = strlen(name);
    return set->pattern ? ms_pattern_matches(set->pattern, name, 0, length, &m->steps)
                        : list_has(set->names, name, length);
}

/* The first of the patterns that an end of the name matches, as PEFT's "(.*\.)?(pattern)". */
static uint32_t find_end(ms_adapter_matcher *m, const end_patterns *ends, const char *name,
                         size_t length)
{
    uint32_t found = MS_NO_NAME;
    for (const char *end = name; end; end = next_end(end, name + length)) {
        size_t left = (size_t)(name + length - end);
        uint32_t plain = ms_plain_names_find_dotted(ends->plain, end, left, &m->steps);
        found = plain < found ? plain : found;
    }
    for (uint32_t i = 0; i < ends->count && i < found; i++)
        for (const char *end = ends->patterns[i] ? name : NULL; end;
             end = next_end(end, name + length))
            if (ms_pattern_matches(ends->patterns[i], name, (size_t)(end - name), length,
                                   &m->steps))
                found = i;
    return found;
}

/* ---- layers ---- */

static bool wants_layer(const ms_adapter_matcher *m, uint64_t layer)
{
    return bsearch(&layer, m->layers, m->adapter->layer_count, sizeof layer, compare_layers);
}

/* What stands before the layer's number is a whole part of the name, or ends in a given pattern. */
static bool is_layer_list(ms_adapter_matcher *m, const char *name, size_t length)
{
    if (m->lists.count == 0)
        return memchr(name, '.', length) != NULL; /* something holds the list */
    return find_end(m, &m->lists, name, length) != MS_NO_NAME;
}

/* The first part of the name that is a number, where it stands for a layer. */
static bool is_in_layers(ms_adapter_matcher *m, const char *name)
{
    if (m->adapter->layer_count == 0)
        return true;
    for (const char *point = strchr(name, '.'); point; point = strchr(point + 1, '.')) {
        char *end = NULL;
        uint64_t layer = point[1] >= '0' && point[1] <= '9' ? strtoull(point + 1, &end, 10) : 0;
        if (!end || *end != '.')
            continue;
        if (is_layer_list(m, name, (size_t)(point - name)))
            return wants_layer(m, layer);
    }
    return false;
}

/* ---- answers ---- */

/* A module inside a saved one is saved with it. */
static bool is_inside_saved(const ms_adapter_matcher *m, const char *name)
{
    for (const char *end = name; end; end = *end ? end + 1 : NULL) {
        end = strchr(end, '.') ? strchr(end, '.') : end + strlen(end);
        if (list_has(m->saved.names, name, (size_t)(end - name)))
            return true;
    }
    return false;
}

bool ms_adapter_takes(ms_adapter_matcher *m, const char *name, bool is_linear, bool is_head)
{
    if (is_listed(m, &m->exclude, name) || is_inside_saved(m, name))
        return false;
    if (m->adapter->all_linear)
        return is_linear && !is_head;
    if (!is_listed(m, &m->targets, name))
        return false;
    return m->targets.pattern || is_in_layers(m, name); /* a pattern selects its layers itself */
}

/* Here PEFT looks for the end of a name, wherever that begins. */
bool ms_adapter_saves(const ms_adapter_matcher *m, const char *name)
{
    size_t length = strlen(name);
    for (size_t start = 0; start < length; start++)
        if (ms_plain_names_find(m->saved.names, name + start, length - start) != MS_NO_NAME)
            return true;
    return false;
}

bool ms_adapter_scales_input(const ms_adapter_matcher *m, const char *name)
{
    return list_has(m->feedforward.names, name, strlen(name));
}

bool ms_adapter_gave_up(const ms_adapter_matcher *m)
{
    return m->steps == 0;
}

uint64_t ms_adapter_rank_of(ms_adapter_matcher *m, const char *name)
{
    uint32_t found = find_end(m, &m->ranks, name, strlen(name));
    return found < m->adapter->rank_count ? m->adapter->ranks[found].rank : m->adapter->rank;
}

/* "layers.3.mlp" */
static bool names_number(const ms_module_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        for (const char *p = strchr(list->names[i], '.'); p; p = strchr(p + 1, '.'))
            if (p[1] >= '0' && p[1] <= '9')
                return true;
    return false;
}

bool ms_adapter_is_uniform(const ms_adapter *a)
{
    return !a || (a->layer_count == 0 && a->rank_count == 0 && !a->targets.pattern &&
                  !a->exclude.pattern && !names_number(&a->targets) && !names_number(&a->exclude) &&
                  !names_number(&a->saved));
}

/* ---- experts ---- */

static const char *const *names_of(const ms_family *family)
{
    return ms_family_facts_of(family)->peft.exchanged;
}

bool ms_adapter_exchanges(const ms_family *family)
{
    return names_of(family) != NULL;
}

static bool ends_with_part(const char *name, const char *part)
{
    size_t length = strlen(name), bytes = strlen(part);
    return length >= bytes && strcmp(name + length - bytes, part) == 0 &&
           (length == bytes || name[length - bytes - 1] == '.');
}

bool ms_adapter_exchanges_name(const ms_family *family, const char *name)
{
    const char *const *names = names_of(family);
    for (size_t i = 0; names && names[i]; i++)
        if (ends_with_part(name, names[i]))
            return true;
    return false;
}

static bool adapter_refused_is_listed(const ms_module_list *targets, const char *name)
{
    for (uint32_t i = 0; i < targets->count; i++)
        if (ends_with_part(targets->names[i], name))
            return true;
    return false;
}

/* A pattern is tried on the names that the modules of each layer would have. */
static bool is_matched(ms_adapter_matcher *matcher, uint64_t layers, const char *name)
{
    bool is_router = strcmp(name, "gate") == 0;
    char path[96];
    for (uint64_t i = 0; i < layers; i++) {
        snprintf(path, sizeof path, "model.layers.%" PRIu64 ".mlp.%s%s", i,
                 is_router ? "" : "experts.", name);
        if (ms_adapter_takes(matcher, path, true, false))
            return true;
    }
    return false;
}

/* The first of the targets that is exchanged; NULL: none is. */
static const char *first_exchanged(ms_adapter_matcher *matcher, const ms_adapter *adapter,
                                   const char *const *names, uint64_t layers)
{
    if (adapter->all_linear)
        return "all-linear";
    for (size_t i = 0; names[i]; i++)
        if (adapter->targets.pattern ? is_matched(matcher, layers, names[i])
                                     : adapter_refused_is_listed(&adapter->targets, names[i]))
            return names[i];
    return NULL;
}

ms_status ms_adapter_check_experts(ms_adapter_matcher *matcher, const ms_adapter *adapter,
                                   const ms_family *family, uint64_t layers, ms_error *err)
{
    const char *const *names = names_of(family);
    const char *target = names ? first_exchanged(matcher, adapter, names, layers) : NULL;
    if (!target)
        return MS_OK;
    return ms_fail(err, MS_ERR_CONFIG,
                   "adapter: %s of %s is not predicted: PEFT 0.21 adapts the stacked experts "
                   "instead; name other targets, such as q_proj and v_proj",
                   target, family->model_type);
}

/* ---- other modules ---- */

ms_status ms_adapter_check_module(const ms_family *family, const char *name, ms_error *err)
{
    const ms_refused_module *refused = ms_family_facts_of(family)->peft.refused;
    for (; refused->name; refused++)
        if (ends_with_part(name, refused->name))
            return ms_fail(err, MS_ERR_CONFIG,
                           "adapter: %s of %s is not supported: %s; name other targets, such as "
                           "%s",
                           refused->name, family->model_type, refused->why, refused->other);
    return MS_OK;
}
