/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which modules an adapter applies to, by PEFT 0.21's rules: a name matches a list if it equals an
 * entry or ends in "." and an entry; a pattern must match the whole name.
 */
#include "input/config/adapter/adapter_match.h"

#include <stdlib.h>
#include <string.h>

#include "input/config/adapter/adapter.h"
#include "input/config/adapter/adapter_defaults.h"
#include "base/text/pattern.h"
#include "base/text/plain_names.h"

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

static ms_status no_memory(ms_error *err)
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
        return no_memory(err);
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
        return no_memory(err);
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
        return no_memory(err);
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
        return no_memory(err);
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
