/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/autograd/split.h"

#include "core/trace/build.h"

static bool is_of_parameter(const ms_tape *tape, const ms_edge *edge)
{
    return edge->leaf != MS_NONE && tape->parameters.items[edge->leaf].scope != MS_NONE;
}

void ms_split_keep(const ms_tape *tape, ms_node *node, bool of_parameters)
{
    for (uint32_t i = 0; i < node->edge_count; i++)
        if (is_of_parameter(tape, &node->edges[i]) != of_parameters)
            node->edges[i] = (ms_edge){.node = MS_NONE, .leaf = MS_NONE};
}

static bool has_parameters(const ms_tape *tape, uint32_t node)
{
    const ms_node *n = &tape->nodes.items[node];
    for (uint32_t i = 0; i < n->edge_count; i++)
        if (is_of_parameter(tape, &n->edges[i]))
            return true;
    return false;
}

/* ---- what holds on to nodes ---- */

static uint32_t *holders_of(const ms_backward_split *split, uint32_t node)
{
    return &split->holders[node - split->first];
}

void ms_split_begin(ms_backward_split *split, ms_tape *tape, uint32_t root)
{
    split->count = 0;
    split->root = root;
    for (uint32_t node = split->first; node < split->end; node++)
        *holders_of(split, node) = node == root;
    for (uint32_t node = split->first; node < split->end; node++) {
        const ms_node *n = &tape->nodes.items[node];
        for (uint32_t i = 0; i < n->edge_count; i++)
            if (n->edges[i].leaf == MS_NONE && n->edges[i].node != MS_NONE)
                ++*holders_of(split, n->edges[i].node);
    }
}

/* One holder less; a node that none holds goes, with what it saved and held. */
static void let_go(ms_backward_split *split, ms_tape *tape, uint32_t node)
{
    uint32_t base = tape->ready.count;
    if (!ms_vec_push(&tape->ready, node))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    while (tape->ready.count > base && tape->status == MS_OK) {
        uint32_t at = tape->ready.items[--tape->ready.count];
        if (--*holders_of(split, at) > 0)
            continue;
        ms_node *n = &tape->nodes.items[at];
        for (uint32_t i = 0; i < n->saved_count; i++)
            ms_release(tape, n->saved[i]);
        n->saved_count = 0;
        for (uint32_t i = 0; i < n->edge_count; i++)
            if (n->edges[i].leaf == MS_NONE && n->edges[i].node != MS_NONE &&
                !ms_vec_push(&tape->ready, n->edges[i].node))
                ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

void ms_split_capture(ms_backward_split *split, ms_tape *tape, uint32_t node, ms_tensor gradient)
{
    if (!has_parameters(tape, node))
        return;
    ms_retain(tape, gradient);
    ++*holders_of(split, node);
    split->groups[split->count++] = (ms_split_group){node, gradient};
}

void ms_split_detach(ms_backward_split *split, ms_tape *tape)
{
    if (tape->status == MS_OK)
        let_go(split, tape, split->root);
}

/* ---- gradients of parameters ---- */

/* weight.grad = dw, or weight.grad += dw */
static void add_gradient(ms_tape *tape, uint32_t leaf, ms_tensor gradient)
{
    ms_parameter *parameter = &tape->parameters.items[leaf];
    parameter->is_reached = true;
    if (parameter->grad || !gradient)
        return;
    uint32_t storage = ms_info(tape, gradient)->storage;
    ms_trace_categorize(tape->trace, storage, MS_CATEGORY_GRADIENT);
    ms_trace_label(tape->trace, storage, parameter->name, parameter->scope);
    ms_retain(tape, gradient);
    parameter->grad = gradient;
}

/* Variables of the loop: what each holds until it is assigned anew. */
typedef struct variables {
    uint32_t node;                 /* intermediate; MS_NONE: none yet */
    ms_tensor gradient;            /* non_none_grads */
    ms_tensor sum;                 /* summed_grad */
    ms_tensor found[MS_MAX_EDGES]; /* dweights, dw */
} variables;

static void assign(ms_tape *tape, ms_tensor *variable, ms_tensor value)
{
    ms_tensor before = *variable;
    *variable = value;
    ms_release(tape, before);
}

static void run_group(ms_backward_split *split, ms_tape *tape, const ms_split_group *group,
                      variables *v, ms_split_runner run)
{
    ms_tensor found[MS_MAX_EDGES] = {0};
    if (v->node != MS_NONE)
        let_go(split, tape, v->node);
    v->node = group->node;
    assign(tape, &v->gradient, group->gradient);
    ms_tensor sum = ms_empty_like(tape, v->gradient, (ms_dtype)ms_info(tape, v->gradient)->dtype);
    ms_retain(tape, sum); /* sum() begins with 0 */
    assign(tape, &v->sum, sum);
    run(tape, group->node, sum, found);
    const ms_node *node = &tape->nodes.items[group->node];
    for (uint32_t i = 0; i < MS_MAX_EDGES; i++) {
        assign(tape, &v->found[i], found[i]);
        if (i < node->edge_count && is_of_parameter(tape, &node->edges[i]))
            add_gradient(tape, node->edges[i].leaf, found[i]);
    }
}

static bool is_group_of(const ms_tape *tape, const ms_split_group *group, uint32_t leaf)
{
    const ms_node *node = &tape->nodes.items[group->node];
    for (uint32_t i = 0; i < node->edge_count; i++)
        if (node->edges[i].leaf == leaf)
            return true;
    return false;
}

void ms_split_weights(ms_backward_split *split, ms_tape *tape, ms_split_runner run)
{
    variables v = {.node = MS_NONE};
    for (uint32_t leaf = 0; leaf < tape->parameters.count && tape->status == MS_OK; leaf++)
        for (uint32_t i = 0; i < split->count && tape->status == MS_OK; i++) {
            ms_split_group *group = &split->groups[i];
            if (!group->gradient || !is_group_of(tape, group, leaf))
                continue;
            run_group(split, tape, group, &v, run);
            group->gradient = 0;
        }
    if (v.node != MS_NONE && tape->status == MS_OK)
        let_go(split, tape, v.node);
    assign(tape, &v.gradient, 0);
    assign(tape, &v.sum, 0);
    for (uint32_t i = 0; i < MS_MAX_EDGES; i++)
        assign(tape, &v.found[i], 0);
    split->count = 0;
}
