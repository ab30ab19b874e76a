/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which modules an adapter changes, by PEFT 0.21's rules: a name is listed when it is an entry or
 * ends in one after a point; a pattern must match the whole name.
 */
#include <stdlib.h>
#include <string.h>

#include "config/adapter.h"
#include "config/pattern.h"

struct ms_adapter_matcher {
    const ms_adapter *adapter;
    ms_module_list targets, feedforward;
    ms_pattern *target_pattern, *exclude_pattern;
    ms_pattern **rank_patterns;  /* one for each of adapter->ranks */
    ms_pattern **layer_patterns; /* one for each of adapter->layers_pattern */
    bool ran_out;                /* of memory, in matching */
};

static ms_status compile_list(const ms_module_list *list, ms_pattern **pattern, ms_error *err)
{
    return list->pattern ? ms_pattern_new("", list->pattern, "", pattern, err) : MS_OK;
}

static ms_status compile(ms_adapter_matcher *m, ms_error *err)
{
    const ms_adapter *a = m->adapter;
    ms_status status = compile_list(&m->targets, &m->target_pattern, err);
    if (status == MS_OK)
        status = compile_list(&a->exclude, &m->exclude_pattern, err);
    for (uint32_t i = 0; i < a->rank_count && status == MS_OK; i++)
        status = ms_pattern_new("(.*\\.)?", a->ranks[i].pattern, "", &m->rank_patterns[i], err);
    for (uint32_t i = 0; i < a->layers_pattern.count && status == MS_OK; i++)
        status =
            ms_pattern_new("(.*\\.)?", a->layers_pattern.names[i], "", &m->layer_patterns[i], err);
    return status;
}

ms_status ms_adapter_matcher_new(const ms_adapter *adapter, const char *model_type,
                                 ms_adapter_matcher **matcher, ms_error *err)
{
    ms_module_list defaults[2];
    ms_adapter_defaults(model_type, adapter->kind, defaults);
    bool has_targets = adapter->targets.count > 0 || adapter->targets.pattern;
    ms_adapter_matcher *m = calloc(1, sizeof *m);
    *matcher = m;
    if (!m)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the adapter");
    m->adapter = adapter;
    m->targets = has_targets || adapter->all_linear ? adapter->targets : defaults[0];
    m->feedforward = adapter->feedforward.names ? adapter->feedforward : defaults[1];
    m->rank_patterns = calloc(adapter->rank_count + 1, sizeof *m->rank_patterns);
    m->layer_patterns = calloc(adapter->layers_pattern.count + 1, sizeof *m->layer_patterns);
    if (m->rank_patterns && m->layer_patterns)
        return compile(m, err);
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the adapter");
}

void ms_adapter_matcher_free(ms_adapter_matcher *m)
{
    if (!m)
        return;
    ms_pattern_free(m->target_pattern);
    ms_pattern_free(m->exclude_pattern);
    for (uint32_t i = 0; m->rank_patterns && i < m->adapter->rank_count; i++)
        ms_pattern_free(m->rank_patterns[i]);
    for (uint32_t i = 0; m->layer_patterns && i < m->adapter->layers_pattern.count; i++)
        ms_pattern_free(m->layer_patterns[i]);
    free(m->rank_patterns);
    free(m->layer_patterns);
    free(m);
}

static bool list_has(const ms_module_list *list, const char *name)
{
    size_t length = strlen(name);
    for (uint32_t i = 0; i < list->count; i++) {
        size_t end = strlen(list->names[i]);
        if (end > length || strcmp(name + length - end, list->names[i]) != 0)
            continue;
        if (end == length || name[length - end - 1] == '.')
            return true;
    }
    return false;
}

static bool is_listed(ms_adapter_matcher *m, const ms_module_list *list, const ms_pattern *pattern,
                      const char *name)
{
    return pattern ? ms_pattern_matches(pattern, name, &m->ran_out) : list_has(list, name);
}

/* ---- layers ---- */

static bool wants_layer(const ms_adapter *a, uint64_t layer)
{
    for (uint32_t i = 0; i < a->layer_count; i++)
        if (a->layers[i] == layer)
            return true;
    return false;
}

/* What stands before the layer's number is a whole part of the name, or ends in a given pattern. */
static bool is_layer_list(ms_adapter_matcher *m, const char *before)
{
    if (m->adapter->layers_pattern.count == 0)
        return strchr(before, '.') != NULL; /* something holds the list */
    for (uint32_t i = 0; i < m->adapter->layers_pattern.count; i++)
        if (ms_pattern_matches(m->layer_patterns[i], before, &m->ran_out))
            return true;
    return false;
}

/* The first part of the name that is a number, where it stands for a layer. */
static bool is_in_layers(ms_adapter_matcher *m, const char *name)
{
    char before[256];
    if (m->adapter->layer_count == 0)
        return true;
    for (const char *point = strchr(name, '.'); point; point = strchr(point + 1, '.')) {
        char *end = NULL;
        uint64_t layer = point[1] >= '0' && point[1] <= '9' ? strtoull(point + 1, &end, 10) : 0;
        size_t length = (size_t)(point - name);
        if (!end || *end != '.' || length >= sizeof before)
            continue;
        memcpy(before, name, length);
        before[length] = '\0';
        if (is_layer_list(m, before))
            return wants_layer(m->adapter, layer);
    }
    return false;
}

/* ---- answers ---- */

/* A module inside a saved one is saved with it. */
static bool is_inside_saved(const ms_adapter *a, const char *name)
{
    char part[256];
    for (const char *end = name; end; end = *end ? end + 1 : NULL) {
        end = strchr(end, '.') ? strchr(end, '.') : end + strlen(end);
        size_t length = (size_t)(end - name);
        if (length >= sizeof part)
            return false;
        memcpy(part, name, length);
        part[length] = '\0';
        if (list_has(&a->saved, part))
            return true;
    }
    return false;
}

bool ms_adapter_takes(ms_adapter_matcher *m, const char *name, bool is_linear, bool is_head)
{
    const ms_adapter *a = m->adapter;
    if (is_listed(m, &a->exclude, m->exclude_pattern, name) || is_inside_saved(a, name))
        return false;
    if (a->all_linear)
        return is_linear && !is_head;
    if (!is_listed(m, &m->targets, m->target_pattern, name))
        return false;
    return m->target_pattern || is_in_layers(m, name); /* a pattern says which layers itself */
}

/* Here PEFT looks for the end of a name, wherever that begins. */
bool ms_adapter_saves(const ms_adapter_matcher *m, const char *name)
{
    const ms_module_list *saved = &m->adapter->saved;
    size_t length = strlen(name);
    for (uint32_t i = 0; i < saved->count; i++) {
        size_t end = strlen(saved->names[i]);
        if (end <= length && strcmp(name + length - end, saved->names[i]) == 0)
            return true;
    }
    return false;
}

bool ms_adapter_scales_input(const ms_adapter_matcher *m, const char *name)
{
    return list_has(&m->feedforward, name);
}

bool ms_adapter_ran_out(const ms_adapter_matcher *m)
{
    return m->ran_out;
}

uint64_t ms_adapter_rank_of(ms_adapter_matcher *m, const char *name)
{
    for (uint32_t i = 0; i < m->adapter->rank_count; i++)
        if (ms_pattern_matches(m->rank_patterns[i], name, &m->ran_out))
            return m->adapter->ranks[i].rank;
    return m->adapter->rank;
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
