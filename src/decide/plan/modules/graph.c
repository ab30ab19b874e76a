/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/modules/graph.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* So that sums over all modules stay below 2^64. */
#define MAX_BYTES (UINT64_C(1) << 46)
enum { MAX_NAME_BYTES = 1000 };
#define MAX_MS 1e12
#define MAX_CURVE 1e9

typedef struct reader {
    ms_arena *arena;
    ms_graph *graph;
    ms_graph_use use;
} reader;

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the modules");
}

static ms_status listed_twice(ms_json_value at, const char *fqn, ms_error *err)
{
    return ms_json_fail(err, at, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "module \"%.100s\" is listed twice", fqn);
}

/* ---- names ---- */

typedef struct named {
    const char *name;
    uint32_t index;
} named;

static int compare_named(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

uint32_t ms_graph_find(const ms_graph *graph, const char *fqn)
{
    uint32_t low = 0, high = graph->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(fqn, graph->modules[graph->by_name[middle]].fqn);
        if (order == 0)
            return graph->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return MS_GRAPH_NO_MODULE;
}

static ms_status sort_names(const reader *r, ms_json_value order, ms_error *err)
{
    uint32_t count = r->graph->count;
    named *names = ms_arena_array(r->arena, named, count);
    uint32_t *sorted = ms_arena_array(r->arena, uint32_t, count);
    if (!names || !sorted)
        return no_memory(err);
    for (uint32_t i = 0; i < count; i++)
        names[i] = (named){r->graph->modules[i].fqn, i};
    qsort(names, count, sizeof *names, compare_named);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(names[i].name, names[i - 1].name) == 0)
            return listed_twice(order, names[i].name, err);
        sorted[i] = names[i].index;
    }
    r->graph->by_name = sorted;
    return MS_OK;
}

/* ---- members ---- */

static ms_status get_bytes(ms_json_value object, const char *key, uint64_t *bytes, ms_error *err)
{
    ms_json_value value;
    ms_status status = ms_json_get_member(object, key, &value, err);
    return status == MS_OK ? ms_json_get_count(value, 0, MAX_BYTES, bytes, err) : status;
}

static ms_status get_ms(ms_json_value object, const char *key, double *ms, ms_error *err)
{
    ms_json_value value;
    ms_status status = ms_json_get_member(object, key, &value, err);
    return status == MS_OK ? ms_json_get_number(value, 0, MAX_MS, ms, err) : status;
}

/* ---- the orders ---- */

static ms_status read_names(const reader *r, ms_json_value list, ms_error *err)
{
    ms_json_value v;
    uint32_t i = 0;
    for (bool more = ms_json_first(list, &v); more; more = ms_json_next(&v), i++) {
        const char *name;
        ms_status status = ms_json_get_string(v, &name, err);
        if (status != MS_OK)
            return status;
        if (!*name || strlen(name) > MAX_NAME_BYTES)
            return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "a module's name has 1 to %d bytes", MAX_NAME_BYTES);
        ms_module *m = &r->graph->modules[i];
        m->fqn = ms_arena_strdup(r->arena, name);
        m->left = m->entered_backward = MS_GRAPH_NO_MODULE;
        if (!m->fqn)
            return no_memory(err);
    }
    return sort_names(r, list, err);
}

static ms_status find_module(const reader *r, ms_json_value name, uint32_t *index, ms_error *err)
{
    const char *text;
    ms_status status = ms_json_get_string(name, &text, err);
    if (status != MS_OK)
        return status;
    *index = ms_graph_find(r->graph, text);
    if (*index == MS_GRAPH_NO_MODULE)
        return ms_json_fail(err, name, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "module \"%.100s\" is not in fw_pre_order", text);
    return MS_OK;
}

static ms_status check_count(const reader *r, ms_json_value list, uint32_t count, ms_error *err)
{
    if (count == r->graph->count)
        return MS_OK;
    return ms_json_fail(err, list, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "%u modules, but fw_pre_order lists %u", (unsigned)count,
                        (unsigned)r->graph->count);
}

/* Reads a list of all modules into the position that `offset` names. */
static ms_status read_positions(const reader *r, ms_json_value order, const char *key,
                                size_t offset, ms_error *err)
{
    ms_json_value list, v;
    ms_status status = ms_json_get_list(order, key, &list, err);
    if (status != MS_OK)
        return status;
    uint32_t position = 0;
    for (bool more = ms_json_first(list, &v); more; more = ms_json_next(&v)) {
        uint32_t index;
        if ((status = find_module(r, v, &index, err)) != MS_OK)
            return status;
        uint32_t *place = (uint32_t *)(void *)((char *)&r->graph->modules[index] + offset);
        if (*place != MS_GRAPH_NO_MODULE)
            return listed_twice(v, r->graph->modules[index].fqn, err);
        *place = position++;
    }
    return check_count(r, list, position, err);
}

/* ---- the tree ---- */

/* The module whose name is the longest that ends at a dot of this one's. */
static uint32_t parent_by_name(const ms_graph *graph, const char *fqn, char *scratch)
{
    memcpy(scratch, fqn, strlen(fqn) + 1);
    for (char *dot = strrchr(scratch, '.'); dot; dot = strrchr(scratch, '.')) {
        *dot = '\0';
        uint32_t found = ms_graph_find(graph, scratch);
        if (found != MS_GRAPH_NO_MODULE)
            return found;
    }
    return MS_GRAPH_NO_MODULE;
}

static ms_status not_a_tree(ms_json_value order, const ms_module *m, ms_error *err)
{
    return ms_json_fail(err, order, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "the orders do not form a tree: see module \"%.100s\"", m->fqn);
}

/* A module is left when all have been that were entered before it, but those around it, and all
 * that lie inside. */
static ms_status check_left(const ms_graph *g, ms_json_value order, ms_error *err)
{
    uint32_t depth = 0, around = MS_GRAPH_NO_MODULE;
    for (uint32_t i = 0; i < g->count; i++) {
        const ms_module *m = &g->modules[i];
        for (; around != m->parent; around = g->modules[around].parent)
            depth--;
        if (m->left != m->after - 1 - depth)
            return not_a_tree(order, m, err);
        around = i;
        depth++;
    }
    return MS_OK;
}

/* A module follows its parent and that one's other descendants without a gap. */
static ms_status build_tree(const reader *r, ms_json_value order, ms_error *err)
{
    ms_graph *g = r->graph;
    size_t longest = 0;
    for (uint32_t i = 0; i < g->count; i++)
        if (strlen(g->modules[i].fqn) > longest)
            longest = strlen(g->modules[i].fqn);
    char *scratch = ms_arena_array(r->arena, char, longest + 1);
    if (!scratch)
        return no_memory(err);
    uint32_t open = MS_GRAPH_NO_MODULE;
    for (uint32_t i = 0; i < g->count; i++) {
        ms_module *m = &g->modules[i];
        m->parent = parent_by_name(g, m->fqn, scratch);
        for (; open != m->parent && open != MS_GRAPH_NO_MODULE; open = g->modules[open].parent)
            g->modules[open].after = i;
        if (open != m->parent || (i > 0) != (m->parent != MS_GRAPH_NO_MODULE))
            return not_a_tree(order, m, err);
        open = i;
    }
    for (; open != MS_GRAPH_NO_MODULE; open = g->modules[open].parent)
        g->modules[open].after = g->count;
    return check_left(g, order, err);
}

/* ---- figures ---- */

static ms_status read_curve(const reader *r, ms_json_value stats, ms_module *m, ms_error *err)
{
    ms_json_value slopes, intercepts, slope, intercept;
    ms_status status = ms_json_get_list(stats, "slopes", &slopes, err);
    if (status == MS_OK)
        status = ms_json_get_list(stats, "intercepts", &intercepts, err);
    if (status != MS_OK)
        return status;
    uint32_t count = ms_json_length(slopes);
    if (count == 0 || count > MS_GRAPH_MAX_SEGMENTS || count != ms_json_length(intercepts))
        return ms_json_fail(err, slopes, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "needs 1 to %d slopes and as many intercepts", MS_GRAPH_MAX_SEGMENTS);
    ms_segment *segments = ms_arena_array(r->arena, ms_segment, count);
    if (!segments)
        return no_memory(err);
    ms_json_first(slopes, &slope);
    ms_json_first(intercepts, &intercept);
    for (uint32_t i = 0; i < count; i++) {
        status = ms_json_get_number(slope, -MAX_CURVE, MAX_CURVE, &segments[i].slope, err);
        if (status == MS_OK)
            status =
                ms_json_get_number(intercept, -MAX_CURVE, MAX_CURVE, &segments[i].intercept, err);
        if (status != MS_OK)
            return status;
        ms_json_next(&slope);
        ms_json_next(&intercept);
    }
    m->segments = segments;
    m->segment_count = count;
    return MS_OK;
}

/* What only the choice of checkpoints needs. */
static ms_status read_recomputation(const reader *r, ms_json_value stats, ms_module *m,
                                    ms_error *err)
{
    ms_json_value leaf;
    ms_status status = ms_json_get_member(stats, "is_leaf", &leaf, err);
    if (status == MS_OK)
        status = ms_json_get_bool(leaf, &m->is_leaf, err);
    if (status != MS_OK || m->is_leaf)
        return status;
    if ((status = get_bytes(stats, "sac_memory", &m->made_bytes, err)) != MS_OK ||
        (status = get_ms(stats, "sac_runtime", &m->operators_ms, err)) != MS_OK ||
        (status = read_curve(r, stats, m, err)) != MS_OK)
        return status;
    if (m->made_bytes < m->saved_bytes) {
        m->made_bytes = m->saved_bytes;
        r->graph->first_raised = r->graph->raised_count++ ? r->graph->first_raised : m->fqn;
    }
    return MS_OK;
}

static ms_status read_sharding(ms_json_value stats, ms_module *m, ms_error *err)
{
    ms_status status = get_bytes(stats, "grad_per_module", &m->grad_bytes, err);
    if (status == MS_OK)
        status = get_ms(stats, "fw_runtime_per_module", &m->forward_ms, err);
    if (status == MS_OK)
        status = get_ms(stats, "bw_runtime_per_module", &m->backward_ms, err);
    return status;
}

static ms_status read_module(const reader *r, ms_json_value stats, ms_module *m, ms_error *err)
{
    const struct {
        const char *key;
        uint64_t *bytes;
    } fields[] = {
        {"param_per_module", &m->param_bytes},  {"grad_total", &m->grad_total_bytes},
        {"act_fw_per_module", &m->saved_bytes}, {"act_grad_per_module", &m->act_grad_bytes},
        {"act_total", &m->act_total_bytes},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        ms_status status = get_bytes(stats, fields[i].key, fields[i].bytes, err);
        if (status != MS_OK)
            return status;
    }
    return r->use == MS_GRAPH_FOR_CHECKPOINTS ? read_recomputation(r, stats, m, err)
                                              : read_sharding(stats, m, err);
}

static ms_status read_stats(const reader *r, ms_json_value list, ms_error *err)
{
    ms_json_value stats, fqn;
    bool *seen = ms_arena_array(r->arena, bool, r->graph->count);
    if (!seen)
        return no_memory(err);
    ms_status status = check_count(r, list, ms_json_length(list), err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &stats); more; more = ms_json_next(&stats)) {
        uint32_t index;
        status = ms_json_get_member(stats, "fqn", &fqn, err);
        if (status == MS_OK)
            status = find_module(r, fqn, &index, err);
        if (status != MS_OK)
            return status;
        if (seen[index])
            return listed_twice(fqn, r->graph->modules[index].fqn, err);
        seen[index] = true;
        if ((status = read_module(r, stats, &r->graph->modules[index], err)) != MS_OK)
            return status;
    }
    return MS_OK;
}

static ms_status read_orders(const reader *r, ms_json_value root, ms_error *err)
{
    ms_json_value order, entered;
    ms_status status = ms_json_get_member(root, "mod_order", &order, err);
    if (status == MS_OK)
        status = ms_json_get_list(order, "fw_pre_order", &entered, err);
    if (status != MS_OK)
        return status;
    ms_graph *g = r->graph;
    g->count = ms_json_length(entered);
    if (g->count == 0)
        return ms_json_fail(err, entered, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "it lists no modules");
    if (g->count > MS_GRAPH_MAX_MODULES)
        return ms_json_fail(err, entered, MS_JSON_AT_VALUE, MS_ERR_LIMIT,
                            "%u modules; at most %d are planned", (unsigned)g->count,
                            MS_GRAPH_MAX_MODULES);
    g->modules = ms_arena_array(r->arena, ms_module, g->count);
    if (!g->modules)
        return no_memory(err);
    if ((status = read_names(r, entered, err)) == MS_OK)
        status = read_positions(r, order, "fw_post_order", offsetof(ms_module, left), err);
    if (status == MS_OK && r->use == MS_GRAPH_FOR_SHARDS)
        status =
            read_positions(r, order, "bw_pre_order", offsetof(ms_module, entered_backward), err);
    return status == MS_OK ? build_tree(r, order, err) : status;
}

ms_status ms_graph_read(ms_arena *arena, ms_json_value root, ms_graph_use use, ms_graph *graph,
                        ms_error *err)
{
    *graph = (ms_graph){0};
    reader r = {arena, graph, use};
    ms_json_value stats;
    ms_status status = read_orders(&r, root, err);
    if (status == MS_OK)
        status = ms_json_get_list(root, "mod_stats", &stats, err);
    return status == MS_OK ? read_stats(&r, stats, err) : status;
}
