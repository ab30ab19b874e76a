/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order of events around one node, as in PyTorch's engine:
 *
 *   unpack saved tensors (hooks may recompute forward here) -> run -> [release unpacked ones,
 *   last first] -> reduce and cast gradients that do not match the input -> release incoming
 *   gradients -> release saved tensors -> pass the gradients on, accumulating where one is
 *   already waiting
 */
#include "torch/autograd/engine.h"

#include "core/trace/build.h"
#include "torch/autograd/cuda_reduce.h"
#include "torch/autograd/graph.h"

/* ---- split ---- */

/* Runs a node for its parameters; out[i]: the gradient of input i, held, or 0. */
typedef void (*ms_split_runner)(ms_tape *tape, uint32_t node, ms_tensor gradient, ms_tensor *out);

static bool is_of_parameter(const ms_tape *tape, const ms_edge *edge)
{
    return edge->leaf != MS_NONE && tape->parameters.items[edge->leaf].scope != MS_NONE;
}

/* Keeps a node's edges to parameters, or the others. What was received is no parameter. */
static void split_keep(const ms_tape *tape, ms_node *node, bool of_parameters)
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

static void split_begin(ms_backward_split *split, ms_tape *tape, uint32_t root)
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

/* A gradient arrives at a node: it is kept if the node has parameters. */
static void split_capture(ms_backward_split *split, ms_tape *tape, uint32_t node,
                          ms_tensor gradient)
{
    if (!has_parameters(tape, node))
        return;
    ms_retain(tape, gradient);
    ++*holders_of(split, node);
    split->groups[split->count++] = (ms_split_group){node, gradient};
}

/* The root is detached: what no node with parameters leads to is freed. */
static void split_detach(ms_backward_split *split, ms_tape *tape)
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

/* The second part, in the order of parameters; afterwards nothing of the graph is left. */
static void split_weights(ms_backward_split *split, ms_tape *tape, ms_split_runner run)
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

/* ---- ready ---- */

/* The heap of nodes that are ready to run backward: the largest number first. A nested run
 * uses the part of the table from `base` on. */

static void ready_push(ms_tape *tape, uint32_t base, uint32_t node)
{
    if (!ms_vec_push(&tape->ready, node)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    uint32_t *heap = tape->ready.items + base;
    for (uint32_t i = tape->ready.count - base - 1; i && heap[(i - 1) / 2] < heap[i];
         i = (i - 1) / 2) {
        uint32_t parent = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = heap[i];
        heap[i] = parent;
    }
}

/* There must be one. */
static uint32_t ready_pop(ms_tape *tape, uint32_t base)
{
    uint32_t *heap = tape->ready.items + base;
    uint32_t top = heap[0], count = --tape->ready.count - base;
    heap[0] = heap[count];
    for (uint32_t i = 0;;) {
        uint32_t child = 2 * i + 1;
        if (child >= count)
            break;
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[i] >= heap[child])
            break;
        uint32_t swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
        i = child;
    }
    return top;
}

/* ---- gradients ---- */

/* PyTorch adds in place when nothing else holds the buffered gradient or its storage. A view holds
 * its base, so a gradient that went through a view is never added to in place. */
static bool can_accumulate_in_place(ms_tape *tape, ms_tensor tensor)
{
    const ms_tensor_info *info = ms_info(tape, tensor);
    return info->refs == 1 && !info->is_view && tape->storage_refs.items[info->storage] == 1 &&
           ms_is_dense(info);
}

static void accumulate(ms_tape *tape, ms_tensor *slot, ms_tensor tensor, bool may_change)
{
    if (!tensor)
        return;
    if (!*slot) {
        *slot = tensor;
        return;
    }
    if (!may_change || !can_accumulate_in_place(tape, *slot)) {
        static const ms_op add = {.name = "accumulate_gradient"};
        ms_op_mark mark = ms_op_begin(tape, &add);
        ms_tensor sum = ms_empty_like(tape, *slot, (ms_dtype)ms_info(tape, *slot)->dtype);
        ms_op_operand(tape, mark, *slot, false);
        ms_op_operand(tape, mark, tensor, false);
        ms_op_operand(tape, mark, sum, true);
        ms_op_end(tape, mark);
        ms_retain(tape, sum);
        ms_release(tape, *slot);
        *slot = sum;
    }
    ms_release(tape, tensor);
}

/* Adds `tensor` (its reference moves) into `*slot`, in place where PyTorch would. */
static void ms_accumulate(ms_tape *tape, ms_tensor *slot, ms_tensor tensor)
{
    accumulate(tape, slot, tensor, true);
}

static ms_tensor cast_raw(ms_tape *tape, ms_tensor tensor, ms_dtype dtype)
{
    ms_tensor result = ms_empty_like(tape, tensor, dtype);
    ms_consume(tape, tensor);
    return result;
}

ms_tensor ms_sum_to(ms_tape *tape, ms_tensor grad, const ms_shape *shape)
{
    const ms_tensor_info info = *ms_info(tape, grad);
    ms_tensor result = ms_empty(tape, *shape, (ms_dtype)info.dtype);
    if (!tape->on_cpu && !ms_idle(tape)) {
        uint64_t outputs = ms_elements(shape), elements = ms_elements(&info.shape);
        uint32_t last = shape->rank ? shape->rank - 1 : 0;
        bool inputs_contiguous = shape->rank == 0 || shape->dims[last].value !=
                                                         info.shape.dims[info.shape.rank - 1].value;
        ms_reduce_buffers buffers = ms_cuda_reduce_buffers(
            tape->options.device, outputs, outputs ? elements / outputs : 0, inputs_contiguous);
        ms_tensor partial =
            buffers.partial_bytes ? ms_empty_bytes(tape, buffers.partial_bytes, MS_DTYPE_U8) : 0;
        ms_tensor semaphores = buffers.semaphore_bytes
                                   ? ms_empty_bytes(tape, buffers.semaphore_bytes, MS_DTYPE_I32)
                                   : 0;
        ms_consume(tape, semaphores);
        ms_consume(tape, partial);
    }
    if (result && shape->rank < info.shape.rank) /* summed with these dimensions kept, and viewed */
        ms_info(tape, result)->is_view = true;
    ms_consume(tape, grad);
    return result;
}

/* What waits for gradients of parameters is told. */
static void tell(ms_tape *tape, uint32_t leaf)
{
    const ms_parameter *parameter = &tape->parameters.items[leaf];
    if (parameter->scope != MS_NONE && !parameter->is_of_graph)
        ms_hooks_accumulated(tape, leaf);
}

/* AccumulateGrad: takes the first gradient over if it can, adds later ones in place. */
static void accumulate_parameter(ms_tape *tape, uint32_t leaf)
{
    ms_parameter *parameter = &tape->parameters.items[leaf];
    ms_tensor incoming = parameter->buffer;
    parameter->buffer = 0;
    if (!incoming || ms_idle(tape))
        return;
    if (parameter->is_captured) {
        parameter->grad = incoming;
        return;
    }
    parameter->is_reached = true;
    if (parameter->grad) { /* added to it in place */
        ms_release(tape, incoming);
        tell(tape, leaf);
        return;
    }
    const ms_tensor_info *info = ms_info(tape, incoming);
    ms_tensor cloned = 0;
    if (info->refs != 1 || !ms_is_contiguous(info)) {
        cloned = incoming;
        incoming = ms_empty(tape, info->shape, (ms_dtype)info->dtype);
        ms_retain(tape, incoming);
    }
    if (!incoming) {
        ms_release(tape, cloned);
        return;
    }
    uint32_t storage = ms_info(tape, incoming)->storage;
    if (parameter->scope != MS_NONE) { /* else a rerun's input: see ms_rerun */
        ms_trace_categorize(tape->trace, storage, MS_CATEGORY_GRADIENT);
        ms_trace_label(tape->trace, storage, parameter->name, parameter->scope);
    }
    parameter->grad = incoming;
    tell(tape, leaf);
    ms_release(tape, cloned);
}

/* ---- running one node ---- */

typedef struct node_run {
    ms_node node; /* a copy: the table may move while a checkpoint recomputes */
    uint32_t base;
    ms_backward_split *split; /* of a backward of inputs alone, or NULL */
    ms_tensor few[MS_MAX_EDGES];
    ms_tensor *grads; /* of the outputs: few, or on the heap */
    ms_tensor out[MS_MAX_EDGES];
} node_run;

static void match_metadata(ms_tape *tape, node_run *run)
{
    for (uint32_t i = 0; i < run->node.edge_count; i++) {
        if (!run->out[i])
            continue;
        const ms_meta *meta = ms_input_meta(tape, &run->node, i);
        if (!ms_same_shape(&ms_info(tape, run->out[i])->shape, &meta->shape))
            run->out[i] = ms_sum_to(tape, run->out[i], &meta->shape);
        if (run->out[i] && ms_info(tape, run->out[i])->dtype != meta->dtype)
            run->out[i] = cast_raw(tape, run->out[i], (ms_dtype)meta->dtype);
    }
}

/* Whether a saved slot is filled just before the node runs, and emptied just after. */
static bool is_unpacked(const ms_node *node, uint32_t slot)
{
    return node->packed[slot] != MS_NONE;
}

static void unpack_saved(ms_tape *tape, node_run *run)
{
    const ms_saved_hooks hooks = tape->hooks.saved.items[run->node.hooks];
    for (uint32_t i = 0; i < run->node.saved_count; i++)
        if (is_unpacked(&run->node, i))
            run->node.saved[i] =
                hooks.unpack(tape, hooks.context, hooks.number, run->node.packed[i]);
}

static void drop_saved(ms_tape *tape, const node_run *run)
{
    const ms_saved_hooks hooks = tape->hooks.saved.items[run->node.hooks];
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->node.saved_count; i++)
        count += is_unpacked(&run->node, i);
    if (hooks.drop)
        hooks.drop(tape, hooks.context, hooks.number, count);
}

/* A kernel may compute gradients that nothing wants; the node's function does not return them. */
static void drop_unwanted(ms_tape *tape, node_run *run)
{
    for (uint32_t i = 0; i < run->node.edge_count; i++) {
        ms_tensor unwanted = run->out[i];
        if (run->node.edges[i].leaf != MS_NONE || run->node.edges[i].node != MS_NONE)
            continue;
        run->out[i] = 0;
        bool is_wanted = false;
        for (uint32_t k = 0; k < run->node.edge_count; k++)
            is_wanted = is_wanted || (run->out[k] == unwanted && unwanted);
        if (!is_wanted)
            ms_consume(tape, unwanted);
    }
}

static void compute(ms_tape *tape, node_run *run)
{
    uint32_t previous = ms_scope_enter(tape, run->node.scope);
    ms_op_mark mark = ms_op_begin(tape, run->node.op);
    for (uint32_t i = 0; i < run->node.output_count; i++)
        ms_op_operand(tape, mark, run->grads[i], false);
    if (!ms_idle(tape))
        run->node.op->backward(tape, &run->node, run->grads, run->out);
    for (uint32_t i = run->node.saved_count; i-- > 0;)
        if (is_unpacked(&run->node, i))
            ms_release(tape, run->node.saved[i]);
    drop_unwanted(tape, run);
    if (!ms_idle(tape))
        match_metadata(tape, run);
    for (uint32_t i = 0; i < run->node.edge_count; i++) {
        ms_op_operand(tape, mark, run->out[i], true);
        ms_retain(tape, run->out[i]);
    }
    ms_op_end(tape, mark);
    tape->scope = previous;
}

static void release_inputs(ms_tape *tape, node_run *run)
{
    for (uint32_t i = 0; i < run->node.output_count; i++)
        ms_release(tape, run->grads[i]);
    if (run->split) /* the graph is retained */
        return;
    if (run->node.hooks != MS_NONE)
        drop_saved(tape, run);
    for (uint32_t i = 0; i < run->node.saved_count; i++)
        if (!is_unpacked(&run->node, i))
            ms_release(tape, run->node.saved[i]);
}

static void hand_on(ms_tape *tape, node_run *run)
{
    for (uint32_t i = 0; i < run->node.edge_count; i++) {
        ms_edge edge = run->node.edges[i];
        if (edge.leaf != MS_NONE) {
            ms_parameter *parameter = &tape->parameters.items[edge.leaf];
            tape->stream = parameter->stream;
            ms_accumulate(tape, &parameter->buffer, run->out[i]);
            tape->stream = MS_STREAM_OPERATORS;
            if (--parameter->pending == 0)
                accumulate_parameter(tape, edge.leaf);
        } else if (edge.node != MS_NONE) {
            ms_node *next = &tape->nodes.items[edge.node];
            accumulate(tape, &tape->buffers.items[next->first_buffer + edge.output], run->out[i],
                       !next->is_distributed);
            if (--next->dependencies == 0)
                ready_push(tape, run->base, edge.node);
        } else {
            ms_release(tape, run->out[i]);
        }
    }
}

static void enter_module(ms_tape *tape, uint32_t scope)
{
    uint32_t previous = tape->module;
    if (scope == previous)
        return;
    ms_module_enter(tape, scope);
    ms_hooks_backward_moves(tape, previous, scope);
}

static void run_node(ms_tape *tape, uint32_t base, uint32_t index, ms_backward_split *split)
{
    node_run run = {.node = tape->nodes.items[index], .base = base, .split = split};
    tape->nodes.items[index].visited = false;
    bool many = run.node.output_count > MS_MAX_EDGES;
    run.grads = many ? malloc(run.node.output_count * sizeof *run.grads) : run.few;
    if (!run.grads) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    for (uint32_t i = 0; i < run.node.output_count; i++) {
        run.grads[i] = tape->buffers.items[run.node.first_buffer + i];
        tape->buffers.items[run.node.first_buffer + i] = 0;
    }
    enter_module(tape, run.node.module);
    ms_hooks_node_begins(tape, run.node.scope, run.node.op);
    if (run.node.hooks != MS_NONE)
        unpack_saved(tape, &run);
    if (split) {
        split_capture(split, tape, index, run.grads[0]);
        split_keep(tape, &run.node, false);
    }
    compute(tape, &run);
    release_inputs(tape, &run);
    if (many)
        free(run.grads);
    hand_on(tape, &run);
}

/* ---- the graph ---- */

static void visit(ms_tape *tape, uint32_t node)
{
    if (tape->nodes.items[node].visited)
        return;
    tape->nodes.items[node].visited = true;
    if (!ms_vec_push(&tape->ready, node))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* Counts, for every node and parameter reachable from root, the gradients that will arrive. */
static void count_dependencies(ms_tape *tape, uint32_t base, uint32_t root, bool of_inputs)
{
    visit(tape, root);
    while (tape->ready.count > base && !ms_idle(tape)) {
        ms_node node = tape->nodes.items[tape->ready.items[--tape->ready.count]];
        if (of_inputs)
            split_keep(tape, &node, false);
        for (uint32_t i = 0; i < node.edge_count; i++) {
            ms_edge edge = node.edges[i];
            if (edge.leaf != MS_NONE) {
                tape->parameters.items[edge.leaf].pending++;
            } else if (edge.node != MS_NONE) {
                tape->nodes.items[edge.node].dependencies++;
                visit(tape, edge.node);
            }
        }
    }
}

static void run_graph(ms_tape *tape, ms_tensor root, ms_tensor grad, ms_backward_split *split)
{
    if (ms_idle(tape) || !root)
        return;
    uint32_t base = tape->ready.count, node = ms_info(tape, root)->node;
    bool outer = tape->in_backward;
    bool grad_enabled = tape->grad_enabled;
    tape->in_backward = true;
    tape->grad_enabled = false;
    count_dependencies(tape, base, node, split != NULL);
    ms_retain(tape, grad);
    tape->buffers.items[tape->nodes.items[node].first_buffer + ms_info(tape, root)->node_output] =
        grad;
    ready_push(tape, base, node);
    while (tape->ready.count > base && tape->status == MS_OK)
        run_node(tape, base, ready_pop(tape, base), split);
    if (!outer) {
        enter_module(tape, MS_NONE);
        ms_hooks_backward_ends(tape);
    }
    tape->in_backward = outer;
    tape->grad_enabled = grad_enabled;
}

void ms_backward(ms_tape *tape, ms_tensor root, ms_tensor grad)
{
    run_graph(tape, root, grad, NULL);
}

void ms_backward_inputs(ms_tape *tape, ms_tensor root, ms_tensor grad, ms_backward_split *split)
{
    if (ms_idle(tape) || !root)
        return;
    split_begin(split, tape, ms_info(tape, root)->node);
    run_graph(tape, root, grad, split);
    split_detach(split, tape);
}

/* One node for its parameters alone; its saved tensors go. */
static void run_for_weights(ms_tape *tape, uint32_t index, ms_tensor grad, ms_tensor *out)
{
    node_run run = {.node = tape->nodes.items[index]};
    bool grad_enabled = tape->grad_enabled;
    tape->in_backward = true;
    tape->grad_enabled = false;
    run.grads = run.few;
    run.grads[0] = grad;
    ms_retain(tape, grad);
    split_keep(tape, &run.node, true);
    compute(tape, &run);
    release_inputs(tape, &run);
    tape->nodes.items[index].saved_count = 0;
    for (uint32_t i = 0; i < run.node.edge_count; i++)
        out[i] = run.out[i];
    tape->in_backward = false;
    tape->grad_enabled = grad_enabled;
}

void ms_backward_weights(ms_tape *tape, ms_backward_split *split)
{
    split_weights(split, tape, run_for_weights);
}

/* ---- rerun ---- */

/* Kept so that recomputation draws the same numbers. */
ms_tensor ms_host_random_state(ms_tape *tape)
{
    enum { STATE_BYTES = 5056 };
    ms_tensor state = tape->on_cpu ? ms_empty_bytes(tape, STATE_BYTES, MS_DTYPE_U8) : 0;
    ms_retain(tape, state);
    return state;
}

void ms_autocast_clear(ms_tape *tape)
{
    for (uint32_t i = 0; i < tape->casts.count; i++) {
        ms_cast cast = tape->casts.items[i];
        ms_release(tape, cast.tensor);
        if (cast.parameter < tape->parameters.count) /* else a rerun's input, gone already */
            tape->parameters.items[cast.parameter].cast = 0;
    }
    tape->casts.count = 0;
}

void ms_shared_retain(ms_shared_arguments *shared)
{
    if (shared)
        shared->references++;
}

void ms_shared_release(ms_tape *tape, ms_shared_arguments *shared)
{
    if (!shared || --shared->references > 0)
        return;
    if (shared->drop)
        shared->drop(tape, shared->own);
    for (uint32_t i = 0; i < shared->items.count; i++)
        ms_release(tape, shared->items.items[i]);
    shared->items.count = 0;
}

ms_rerun_mode ms_rerun_begin(ms_tape *tape)
{
    ms_rerun_mode mode = {tape->pass, tape->has_autocast};
    tape->pass = MS_PASS_RECOMPUTE;
    tape->in_backward = false;
    tape->grad_enabled = true;
    tape->has_autocast = tape->options.has_autocast;
    return mode;
}

void ms_rerun_end(ms_tape *tape, ms_rerun_mode mode)
{
    tape->has_autocast = mode.had_autocast;
    tape->grad_enabled = false;
    tape->in_backward = true;
    tape->pass = mode.pass;
}

ms_tensor ms_rerun(ms_tape *tape, const ms_region *region, ms_tensor input, ms_tensor grad,
                   ms_rerun_casts casts)
{
    if (ms_idle(tape) || !input)
        return 0;
    uint32_t leaf = ms_leaf_add(tape, input), graph_leaves = tape->graph_leaves;
    ms_rerun_mode mode = ms_rerun_begin(tape);
    ms_tensor result = region->run(tape, region->context, region->number, input);
    if (tape->has_autocast && casts == MS_RERUN_DROPS_CASTS)
        ms_autocast_clear(tape);
    ms_rerun_end(tape, mode);
    ms_retain(tape, result);
    ms_backward(tape, result, grad);
    ms_release(tape, result);
    ms_graph_drop_leaves(tape, graph_leaves);
    if (tape->parameters.count <= leaf)
        return 0;
    ms_tensor input_grad = ms_unown(tape, tape->parameters.items[leaf].grad);
    ms_release(tape, input);
    tape->parameters.count = leaf;
    return input_grad;
}
