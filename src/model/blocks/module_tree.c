/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/module_tree.h"

#include <string.h>

/* The last linear layer of an MLP before its activation, and what that is called. */
static const char *const activations[][2] = {
    {"gate_proj", "act_fn"}, {"up_proj", "act_fn"},    {"gate_up_proj", "activation_fn"},
    {"c_fc", "act"},         {"fc1", "activation_fn"}, {"dense_h_to_4h", "act"},
};

typedef struct growing {
    const ms_model *model;
    ms_vec(ms_module_row) rows;
    uint32_t *row_of; /* by scope: the container that is open, or MS_NONE */
    bool failed;
} growing;

static uint32_t add(growing *g, ms_module_row row)
{
    g->failed = g->failed || !row.name || !ms_vec_push(&g->rows, row);
    return g->failed ? MS_NONE : g->rows.count - 1;
}

static const char *name_in(const growing *g, uint32_t parent, const char *name)
{
    return parent == MS_NONE || !g->rows.items
               ? name
               : ms_arena_printf(g->model->arena, "%s.%s", g->rows.items[parent].name, name);
}

static const char *last_name(const growing *g, uint32_t scope)
{
    const ms_trace *trace = g->model->tape->trace;
    return trace->names.items[trace->scopes.items[scope].name];
}

/* The row of a scope that holds others, with those above it. */
static uint32_t open_container(growing *g, uint32_t scope)
{
    if (scope == MS_NONE || g->failed)
        return MS_NONE;
    if (g->row_of[scope] != MS_NONE)
        return g->row_of[scope];
    uint32_t parent = open_container(g, g->model->tape->trace->scopes.items[scope].parent);
    g->row_of[scope] = add(g, (ms_module_row){.name = name_in(g, parent, last_name(g, scope)),
                                              .kind = MS_MODULE_CONTAINER,
                                              .parent = parent,
                                              .leaf = MS_NONE});
    return g->row_of[scope];
}

static void add_activation(growing *g, uint32_t parent, const char *beside)
{
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++)
        if (strcmp(activations[i][0], beside) == 0)
            add(g, (ms_module_row){.name = name_in(g, parent, activations[i][1]),
                                   .kind = MS_MODULE_ACTIVATION,
                                   .parent = parent,
                                   .leaf = MS_NONE});
}

static void add_leaf(growing *g, uint32_t leaf)
{
    uint32_t scope = g->model->leaves.items[leaf].scope;
    uint32_t parent = open_container(g, g->model->tape->trace->scopes.items[scope].parent);
    add(g, (ms_module_row){.name = name_in(g, parent, last_name(g, scope)),
                           .kind = MS_MODULE_LEAF,
                           .parent = parent,
                           .leaf = leaf});
    add_activation(g, parent, last_name(g, scope));
}

/* A row ends where the next begins that is not in it. */
static void find_ends(ms_module_row *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        rows[i].end = i + 1;
    for (uint32_t i = count; i-- > 0;)
        if (rows[i].parent != MS_NONE && rows[rows[i].parent].end < rows[i].end)
            rows[rows[i].parent].end = rows[i].end;
}

ms_status ms_module_tree_make(const ms_model *model, ms_module_tree *tree)
{
    uint32_t scopes = model->tape->trace->scopes.count;
    growing g = {.model = model, .row_of = ms_arena_array(model->arena, uint32_t, scopes)};
    *tree = (ms_module_tree){.count = 0};
    for (uint32_t i = 0; g.row_of && i < scopes; i++)
        g.row_of[i] = MS_NONE;
    for (uint32_t i = 0; g.row_of && i < model->leaves.count && !g.failed; i++)
        add_leaf(&g, i);
    ms_module_row *rows = ms_arena_array(model->arena, ms_module_row, g.rows.count);
    bool failed = g.failed || !g.row_of || !rows;
    if (!failed && g.rows.count > 0) {
        memcpy(rows, g.rows.items, g.rows.count * sizeof *rows);
        find_ends(rows, g.rows.count);
        *tree = (ms_module_tree){rows, g.rows.count};
    }
    ms_vec_free(&g.rows);
    return failed ? MS_ERR_NOMEM : MS_OK;
}
