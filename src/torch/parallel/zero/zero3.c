/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where ZeRO-3 takes part in a step. Its hooks are at every module; they are found from the scopes
 * of operators and nodes: modules that are left end, those that are entered begin.
 */
#include "torch/parallel/zero/zero3.h"

#include <stdlib.h>
#include <string.h>

#include "core/trace/build.h"

/* ---- zero3 offload ---- */

/* ZeRO-3 with offload_optimizer: the gradients of the shards are on the host. Each comes to
 * the device when its bucket is reduced, where the last micro-step also takes its norm and
 * widens it. */

/* _constant_buffered_norm2 works on so many elements at a time. */
static const uint64_t NORM_ELEMENTS = UINT64_C(250000000);

/* norm = sqrt(sum of chunk.norm(2) ** 2) */
static ms_tensor norm_of(ms_tape *tape, ms_tensor gradient, uint64_t elements)
{
    ms_tensor norm = 0;
    for (uint64_t at = 0; at < elements && !ms_idle(tape); at += NORM_ELEMENTS) {
        uint64_t left = elements - at;
        ms_tensor part =
            ms_zero_narrow(tape, gradient, left < NORM_ELEMENTS ? left : NORM_ELEMENTS);
        ms_tensor of_part = ms_zero_norm_of(tape, part);
        ms_tensor square = ms_zero_vector(tape, 1, MS_DTYPE_F64, NULL, 0);
        ms_release(tape, of_part);
        ms_release(tape, norm);
        norm = square;
        ms_release(tape, part);
    }
    ms_tensor root = ms_zero_vector(tape, 1, MS_DTYPE_F64, NULL, 0);
    ms_release(tape, norm);
    return root;
}

static /* The gradient of a shard, from the host or to be added there. */
    void
    zero3_offload_gradient(ms_tape *tape, ms_zero3 *all, uint32_t index)
{
    uint64_t elements = all->parameters.items[index].shard;
    ms_release(tape, all->returned);
    all->returned =
        ms_zero_vector(tape, elements, all->dtype, "gradient of a shard", MS_CATEGORY_GRADIENT);
    uint64_t bytes = elements * ms_dtype_bytes(all->dtype);
    ms_work_begin(tape, ms_work_of(MS_WORK_TO_DEVICE, bytes));
    if (!all->is_last || ms_idle(tape))
        return;
    if (!ms_vec_push(&all->norms, norm_of(tape, all->returned, elements)))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_tensor wide = ms_zero_vector(tape, elements, MS_DTYPE_F32, NULL, 0);
    ms_work_begin(tape, ms_work_of(MS_WORK_TO_HOST, elements * ms_dtype_bytes(MS_DTYPE_F32)));
    ms_release(tape, wide);
}

/* The sum of the norms, its root, and what replaces infinity. */
static void total_norm(ms_tape *tape)
{
    static const ms_dtype types[] = {MS_DTYPE_F32, MS_DTYPE_F32, MS_DTYPE_U8,
                                     MS_DTYPE_U8,  MS_DTYPE_U8,  MS_DTYPE_F32};
    ms_tensor scalars[sizeof types / sizeof *types];
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        scalars[i] = ms_zero_vector(tape, 1, types[i], NULL, 0);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        ms_release(tape, scalars[i]);
}

static void zero3_offload_update(ms_tape *tape, ms_zero3 *all)
{
    enum { PASSES = 7 };
    uint64_t elements = ms_zero3_trained_elements(all);
    total_norm(tape);
    const ms_work update =
        ms_work_of(MS_WORK_HOST_UPDATE, PASSES * elements * ms_dtype_bytes(MS_DTYPE_F32));
    ms_work_wait(tape, ms_work_begin(tape, update));
    const ms_work back = ms_work_of(MS_WORK_TO_DEVICE, elements * ms_dtype_bytes(all->dtype));
    ms_work_wait(tape, ms_work_begin(tape, back));
    ms_zero_drop(tape, &all->norms);
    ms_zero3_gather_persistent(tape, all);
}

static /* fp32 shards with gradients and states, and the gradients' sums. */
    uint64_t
    zero3_offload_host_bytes(const ms_zero3 *all, uint64_t states)
{
    uint64_t wide = ms_dtype_bytes(MS_DTYPE_F32);
    return ms_zero3_trained_elements(all) * ((2 + states) * wide + ms_dtype_bytes(all->dtype)) +
           wide * all->groups.count;
}

/* ---- zero3 reduce ---- */

/* Gradients of ZeRO-3: they are copied into the bucket; when another would not fit, the
 * bucket's are interleaved by rank in a new tensor and reduced, and this rank's part is added
 * to the permanent tensor of shards' gradients. Then the update, group by group. */

static ms_parameter *trained(ms_tape *tape, const ms_zero3 *all, uint32_t row)
{
    return &tape->parameters.items[all->parameters.items[row].placed.parameter];
}

static void drop_gradient(ms_tape *tape, const ms_zero3 *all, uint32_t index, bool is_recorded)
{
    ms_parameter *parameter = trained(tape, all, index);
    ms_tensor grad = parameter->grad;
    if (!grad || ms_idle(tape))
        return;
    if (is_recorded && all->reduce_pool != MS_STREAM_OPERATORS &&
        ms_trace_add_use(tape->trace, ms_info(tape, grad)->storage, all->reduce_stream) == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    parameter->grad = 0;
    ms_release(tape, grad);
}

/* torch.empty() for the ranks whose part of a tensor is shorter than those of the first. */
static void pad(ms_tape *tape, const ms_zero3 *all, uint64_t elements, ms_zero_tensors *pads)
{
    uint64_t ranks = all->parallel->layout.shards, part = (elements + ranks - 1) / ranks;
    for (uint64_t rank = elements / part; rank < ranks && !ms_idle(tape); rank++) {
        uint64_t begin = rank * part, here = elements > begin ? elements - begin : 0;
        if (!ms_vec_push(pads, ms_zero_vector(tape, part - here, all->dtype, NULL, 0)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

/* reduce_scatter_coalesced */
static ms_tensor interleave(ms_tape *tape, ms_zero3 *all)
{
    uint64_t ranks = all->parallel->layout.shards, sum = 0;
    uint32_t count = all->collected_parameters.count;
    ms_zero_tensors pads = {0};
    for (uint32_t i = 0; i < count; i++) {
        const ms_zero3_parameter *row = &all->parameters.items[all->collected_parameters.items[i]];
        if (count == 1 && row->elements % ranks == 0)
            return 0;
        sum += row->shard * ranks;
        pad(tape, all, row->elements, &pads);
    }
    ms_tensor flat =
        ms_zero_vector(tape, sum, all->dtype, "bucket being reduced", MS_CATEGORY_GRADIENT);
    ms_zero_drop(tape, &pads);
    ms_vec_free(&pads);
    return flat;
}

/* Each reduced part in the type of the sums. */
static void widen_parts(ms_tape *tape, const ms_zero3 *all, ms_zero_tensors *wide)
{
    for (uint32_t i = 0; i < all->collected_parameters.count && !ms_idle(tape); i++) {
        uint64_t elements = all->parameters.items[all->collected_parameters.items[i]].shard;
        if (!ms_vec_push(wide, ms_zero_vector(tape, elements, MS_DTYPE_F32, NULL, 0)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void ms_zero3_reduce(ms_tape *tape, ms_zero3 *all)
{
    if (!all->collected_parameters.count || ms_idle(tape))
        return;
    ms_zero3_limit(tape, &all->reduced);
    uint64_t ranks = all->parallel->layout.shards;
    uint64_t bytes = all->collected * ms_dtype_bytes(all->dtype);
    tape->stream = all->reduce_pool;
    ms_tensor flat = interleave(tape, all);
    ms_collective(tape, MS_WORK_REDUCE_SCATTER, all->reduce_stream, bytes / ranks * (ranks - 1));
    ms_zero_tensors wide = {0};
    if (all->parallel->zero.accumulates_f32) {
        widen_parts(tape, all, &wide);
        ms_release(tape, flat);
        flat = 0;
    }
    if (all->parallel->zero.offloads_optimizer)
        qsort(all->collected_parameters.items, all->collected_parameters.count, sizeof(uint32_t),
              compare_numbers);
    for (uint32_t i = 0; i < all->collected_parameters.count; i++) {
        if (all->parallel->zero.offloads_optimizer)
            zero3_offload_gradient(tape, all, all->collected_parameters.items[i]);
        drop_gradient(tape, all, all->collected_parameters.items[i], true);
    }
    ms_release(tape, all->returned);
    all->returned = 0;
    ms_release(tape, flat);
    ms_zero_drop(tape, &wide);
    ms_vec_free(&wide);
    tape->stream = MS_STREAM_OPERATORS;
    all->collected_parameters.count = 0;
    all->collected = 0;
    ms_zero3_note(tape, &all->reduced);
}

/* Gradients and the update (zero3_reduce.c). */
static void zero3_collect(ms_tape *tape, ms_zero3 *all, uint32_t index)
{
    const ms_zero *zero = &all->parallel->zero;
    uint64_t elements = all->parameters.items[index].elements;
    if (all->collected && all->collected + elements > zero->reduce_bucket_size)
        ms_zero3_reduce(tape, all);
    if (all->bucket && all->collected + elements <= zero->reduce_bucket_size) {
        ms_parameter *parameter = trained(tape, all, index);
        const ms_tensor_info info = *ms_info(tape, parameter->tensor);
        ms_tensor view = ms_alias(tape, all->bucket, info.shape, info.strides);
        ms_retain(tape, view);
        drop_gradient(tape, all, index, true);
        parameter->grad = view;
    }
    all->collected += elements;
    if (!ms_vec_push(&all->collected_parameters, index))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* ---- the update ---- */

static ms_tensor norm_of_group(ms_tape *tape, const ms_zero3 *all, const ms_zero3_group *group)
{
    ms_zero_tensors parts = {0};
    for (uint32_t i = group->first; i < group->end && !ms_idle(tape); i++)
        if (!ms_vec_push(&parts, ms_zero_narrow(tape, all->gradients,
                                                all->parameters.items[all->order.items[i]].shard)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_tensor norm = ms_zero_norm(tape, &parts);
    ms_zero_drop(tape, &parts);
    ms_vec_free(&parts);
    return norm;
}

/* The gradients of the group's shards, in fp32. */
static void widen(ms_tape *tape, ms_zero3 *all)
{
    const ms_zero3_group *group = &all->groups.items[all->group];
    bool is_wide = all->parallel->zero.accumulates_f32;
    ms_tensor flat = group->end - group->first > 1 && !is_wide
                         ? ms_zero_vector(tape, group->elements, all->dtype, NULL, 0)
                         : 0;
    ms_tensor wide = flat;
    if (all->dtype != MS_DTYPE_F32 || !flat) {
        wide = ms_zero_vector(tape, group->elements, MS_DTYPE_F32, "fp32 gradients",
                              MS_CATEGORY_GRADIENT);
        ms_release(tape, flat);
    }
    tape->parameters.items[group->master].grad = wide;
}

static void zero3_prepare_update(ms_tape *tape, ms_zero3 *all)
{
    ms_zero3_release_all(tape, all);
    if (all->parallel->zero.offloads_optimizer) {
        zero3_offload_update(tape, all);
        return;
    }
    for (uint32_t i = 0; i < all->groups.count && !ms_idle(tape); i++)
        if (!ms_vec_push(&all->norms, norm_of_group(tape, all, &all->groups.items[i])))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    all->total = ms_zero_vector(tape, 1, MS_DTYPE_F64, NULL, 0);
    all->previous = all->norm;
    all->norm = ms_zero_vector(tape, 1, MS_DTYPE_F64, "norm of gradients", MS_CATEGORY_TEMPORARY);
    all->group = 0;
    if (all->groups.count)
        widen(tape, all);
}

static bool zero3_finish_update(ms_tape *tape, ms_zero3 *all)
{
    if (!all->groups.count || all->parallel->zero.offloads_optimizer || ms_idle(tape))
        return false;
    ms_parameter *master = &tape->parameters.items[all->groups.items[all->group].master];
    ms_tensor grad = master->grad;
    master->grad = 0;
    ms_release(tape, grad);
    if (++all->group < all->groups.count) {
        widen(tape, all);
        return true;
    }
    ms_zero3_gather_persistent(tape, all);
    ms_zero_drop(tape, &all->norms);
    ms_release(tape, all->total);
    ms_release(tape, all->previous);
    all->total = all->previous = 0;
    return false;
}

/* ---- zero3 ---- */

static void install(ms_tape *tape, void *state);

static void free_state(void *state)
{
    ms_zero3 *all = state;
    ms_vec_free(&all->parameters);
    ms_vec_free(&all->row_of);
    ms_vec_free(&all->module_first);
    ms_vec_free(&all->module_count);
    ms_vec_free(&all->below_first);
    ms_vec_free(&all->below_count);
    ms_vec_free(&all->leaf_of);
    ms_vec_free(&all->attributed);
    ms_vec_free(&all->external);
    ms_vec_free(&all->is_known);
    ms_vec_free(&all->order);
    ms_vec_free(&all->groups);
    ms_vec_free(&all->modules);
    ms_vec_free(&all->uses);
    ms_vec_free(&all->decisions);
    ms_vec_free(&all->fetched.numbers);
    ms_vec_free(&all->reduced.numbers);
    ms_vec_free(&all->gathers);
    ms_vec_free(&all->gathered);
    ms_vec_free(&all->collected_parameters);
    ms_vec_free(&all->kept);
    ms_vec_free(&all->norms);
}

static const ms_state_kind kind = {
    .bytes = sizeof(ms_zero3), .install = install, .free = free_state};

static ms_zero3 *zero3_of(ms_tape *tape)
{
    return ms_hooks_find_state(tape, &kind);
}

/* ---- modules ---- */

/* The activation function in the module of this scope. */
static uint32_t activation_in(const ms_zero3 *all, uint32_t scope)
{
    return ms_zero3_whole(all) + 1 + scope;
}

/* The dropout before the lora_A of this scope; without any it is an Identity, a module too. */
static uint32_t dropout_before(const ms_zero3 *all, uint32_t scope)
{
    return 3 * ms_zero3_whole(all) + 1 + scope;
}

/* PEFT's LoraModel and the model that it adapts, in the whole. */
static uint32_t tuner(const ms_zero3 *all, uint32_t level)
{
    return 4 * ms_zero3_whole(all) + 1 + level;
}

static bool is_activation(const ms_op *op)
{
    static const char *const names[] = {"silu", "gelu", "relu"};
    for (size_t i = 0; op && op->name && i < sizeof names / sizeof *names; i++)
        if (strcmp(op->name, names[i]) == 0)
            return true;
    return false;
}

static bool is_linear(const ms_op *op)
{
    static const char *const names[] = {
        "mm", "addmm", "MmBackward0", "AddmmBackward0", "matmul_4bit", "MatMul4BitBackward"};
    for (size_t i = 0; op && op->name && i < sizeof names / sizeof *names; i++)
        if (strcmp(op->name, names[i]) == 0)
            return true;
    return false;
}

/* The function around the input of a linear module. */
static bool is_module_input(const ms_op *op)
{
    return op && op->node_name && strcmp(op->node_name, "PostBackwardFunctionModuleBackward") == 0;
}

/* The adapted layer whose lora_A this is, or MS_NONE. */
static uint32_t layer_of_lora_a(const ms_tape *tape, const ms_zero3 *all, uint32_t module)
{
    if (module >= all->external.count)
        return MS_NONE;
    uint32_t layer = tape->trace->scopes.items[module].parent, first;
    bool has = layer < all->external.count && ms_zero3_is_adapted(all, layer) &&
               ms_zero3_own_parameters(all, module, &first) && first == all->external.items[layer];
    return has ? layer : MS_NONE;
}

/* PEFT reads the type of lora_A's weight in the layer above, which then uses it, too; then its
 * dropout runs. */
static void before_lora_a(ms_tape *tape, ms_zero3 *all, uint32_t module)
{
    uint32_t layer = layer_of_lora_a(tape, all, module);
    if (layer == MS_NONE)
        return;
    if (!all->is_known.items[layer])
        ms_zero3_gather_alone(tape, all, all->external.items[layer]);
    all->is_known.items[layer] = 1;
    ms_zero3_fetch(tape, all, dropout_before(all, module));
}

/* A list of layers is no module that is called. */
static bool is_list(const ms_tape *tape, uint32_t scope)
{
    uint32_t layer = ms_layer_scope(tape, 0);
    return layer != MS_NONE && tape->trace->scopes.items[layer].parent == scope;
}

/* The modules around an operator, outermost first. A recomputation has those of its layer. */
static ms_zero3_stack modules_around(ms_tape *tape, const ms_zero3 *all, uint32_t scope,
                                     const ms_op *op, bool is_rerun)
{
    ms_zero3_stack inner = {0}, outer = {0};
    if (scope != MS_NONE && is_activation(op))
        inner.modules[inner.count++] = activation_in(all, scope);
    if (scope != MS_NONE && ms_zero3_is_adapted(all, scope) && is_linear(op))
        inner.modules[inner.count++] = ms_zero3_base_in(all, scope);
    for (; scope != MS_NONE && inner.count + 1 < MS_ZERO3_DEPTH;
         scope = tape->trace->scopes.items[scope].parent) {
        if (ms_zero3_is_leaf(all, scope))
            inner.count = 0;
        bool is_in_layer = ms_scope_layer(tape, scope) != MS_NONE;
        if (!is_list(tape, scope) && (is_in_layer || !is_rerun))
            inner.modules[inner.count++] = scope;
    }
    for (uint32_t level = 2; level-- > 0 && !is_rerun && tape->in_order.count;)
        inner.modules[inner.count++] = tuner(all, level);
    if (!is_rerun)
        inner.modules[inner.count++] = ms_zero3_whole(all);
    while (inner.count)
        outer.modules[outer.count++] = inner.modules[--inner.count];
    return outer;
}

/* Layers call their attention with names for all arguments, which hooks do not get. */
static bool is_called_by_names(const ms_tape *tape, const ms_zero3 *all, uint32_t module)
{
    const ms_trace *trace = tape->trace;
    return module < ms_zero3_whole(all) &&
           strcmp(trace->names.items[trace->scopes.items[module].name], "self_attn") == 0;
}

/* Whether backward through a module is seen to end: it is not where no input that the hook gets has
 * a gradient, as token ids have none. */
static bool ends_in_backward(const ms_tape *tape, const ms_zero3 *all, uint32_t module)
{
    uint32_t first, count = ms_zero3_parameters_of(all, module, &first);
    return count && !is_called_by_names(tape, all, module) &&
           (module == all->tied_head || !all->parameters.items[first].placed.is_embedding);
}

/* The gradients in a leaf module are reduced when its backward is done. */
static void collect_block(ms_tape *tape, ms_zero3 *all, uint32_t module)
{
    uint32_t first, count = ms_zero3_parameters_of(all, module, &first);
    for (uint32_t i = first; i < first + count && !ms_idle(tape); i++)
        if (ms_zero3_is_trained(all, i))
            zero3_collect(tape, all, i);
}

static void leave(ms_tape *tape, ms_zero3 *all, bool is_forward, uint32_t left)
{
    ms_zero3_stack *stack = is_forward ? &all->forward : &all->backward;
    while (stack->count > left) {
        uint32_t module = stack->modules[--stack->count];
        if (!is_forward && ms_zero3_is_leaf(all, module))
            collect_block(tape, all, module);
        if (is_forward || ends_in_backward(tape, all, module))
            ms_zero3_release(tape, all, module);
        if (!is_forward)
            ms_zero3_release_attributed(tape, all, module);
        if (!is_forward && layer_of_lora_a(tape, all, module) != MS_NONE)
            ms_zero3_fetch(tape, all, dropout_before(all, module));
    }
}

/* A module that was called again is left, and entered anew. */
static void leave_called(ms_tape *tape, ms_zero3 *all, uint32_t scope)
{
    if (all->calls_again == tape->calls_again)
        return;
    all->calls_again = tape->calls_again;
    for (uint32_t i = 0; i < all->forward.count; i++)
        if (all->forward.modules[i] == scope)
            leave(tape, all, true, i);
}

/* Adjusts a stack to the module of this scope, which runs this operator. */
static void zero3_move(ms_tape *tape, ms_zero3 *all, bool is_forward, uint32_t scope,
                       const ms_op *op)
{
    ms_zero3_stack *stack = is_forward ? &all->forward : &all->backward;
    const ms_zero3_stack wanted = modules_around(tape, all, scope, op, is_forward && all->is_rerun);
    uint32_t shared = 0;
    if (is_forward)
        leave_called(tape, all, scope);
    while (shared < stack->count && shared < wanted.count &&
           stack->modules[shared] == wanted.modules[shared])
        shared++;
    leave(tape, all, is_forward, shared);
    while (stack->count < wanted.count) {
        uint32_t module = wanted.modules[stack->count];
        if (is_forward)
            before_lora_a(tape, all, module);
        stack->modules[stack->count++] = module;
        ms_zero3_fetch(tape, all, module);
    }
}

static void zero3_leave_all(ms_tape *tape, ms_zero3 *all, bool is_forward)
{
    leave(tape, all, is_forward, 0);
}

/* ---- hooks ---- */

static void op_begins(ms_tape *tape, void *context, uint32_t number, const ms_op *op)
{
    ms_zero3 *all = context;
    (void)number;
    bool is_rerun = tape->pass == MS_PASS_RECOMPUTE;
    if (tape->in_backward || (tape->pass != MS_PASS_FORWARD && !is_rerun) || ms_idle(tape))
        return;
    if (is_rerun && !all->is_rerun)
        all->forward.count = 0;
    all->is_rerun = is_rerun;
    zero3_move(tape, all, true, tape->scope, op);
}

/* lora_A and lora_B are left when their product is there. */
static void op_ends(ms_tape *tape, void *context, uint32_t number)
{
    ms_zero3 *all = context;
    (void)number;
    bool is_forward = tape->pass == MS_PASS_FORWARD || tape->pass == MS_PASS_RECOMPUTE;
    if (tape->in_backward || !is_forward || ms_idle(tape) || !all->forward.count)
        return;
    uint32_t module = all->forward.modules[all->forward.count - 1];
    if (module < all->external.count && module == tape->scope &&
        ms_zero3_is_adapted(all, tape->trace->scopes.items[module].parent))
        leave(tape, all, true, all->forward.count - 1);
}

/* A recomputation that stopped early leaves its modules without their hooks. */
static void before_node(ms_tape *tape, void *context, uint32_t scope, const ms_op *op)
{
    ms_zero3 *all = context;
    if (ms_idle(tape))
        return;
    all->forward.count = 0;
    all->is_rerun = false;
    ms_zero3_drop_kept(tape, all);
    if (scope != MS_NONE && is_module_input(op) && !ms_zero3_is_adapted(all, scope))
        scope = tape->trace->scopes.items[scope].parent; /* its module is left */
    zero3_move(tape, all, false, scope, op);
}

static void before_forward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_zero3 *all = context;
    if (scope != MS_NONE || ms_idle(tape))
        return;
    ms_zero3_begin_pass(tape, all);
    all->forward.count = all->backward.count = 0;
    all->is_rerun = false;
    zero3_move(tape, all, true, MS_NONE, NULL);
}

static void after_forward(ms_tape *tape, void *context, uint32_t scope)
{
    if (scope == MS_NONE && !ms_idle(tape))
        zero3_leave_all(tape, context, true);
}

static void after_backward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_zero3 *all = context;
    if (scope != MS_NONE || ms_idle(tape))
        return;
    for (uint32_t i = 0; i < all->parameters.count && tape->graph_leaves; i++)
        if (all->parameters.items[i]
                .placed.is_embedding) /* its output was made to need a gradient */
            zero3_move(tape, all, false, all->parameters.items[i].placed.scope, NULL);
    zero3_leave_all(tape, all, false);
}

static void accumulated(ms_tape *tape, void *context, uint32_t index)
{
    ms_zero3 *all = context;
    if (index >= all->row_of.count || ms_idle(tape))
        return;
    uint32_t row = all->row_of.items[index], scope = all->parameters.items[row].placed.scope;
    if (scope >= all->leaf_of.count || all->leaf_of.items[scope] == MS_NONE)
        zero3_collect(tape, all, row);
}

static void install(ms_tape *tape, void *state)
{
    ms_zero3 *all = state;
    all->parallel = ms_parallel_of(tape);
    uint64_t ranks = all->parallel->layout.shards;
    bool overlaps = all->parallel->zero.overlap_comm;
    uint32_t gathers = ms_collective_stream(tape, "all-gathers", ranks, ranks);
    uint32_t reductions = ms_collective_stream(tape, "reduce-scatters", ranks, ranks);
    all->gather_stream = gathers;
    all->reduce_stream = reductions;
    all->gather_pool = overlaps ? gathers : MS_STREAM_OPERATORS;
    all->reduce_pool = overlaps ? reductions : MS_STREAM_OPERATORS;
    ms_hooks_push_op(tape, (ms_op_hooks){.begin = op_begins, .end = op_ends, .context = state});
    ms_hooks_push_gradient(tape, (ms_gradient_hook){.accumulated = accumulated, .context = state});
    ms_hooks_push_module(tape, (ms_module_hooks){.before_forward = before_forward,
                                                 .after_forward = after_forward,
                                                 .after_backward = after_backward,
                                                 .before_node = before_node,
                                                 .context = state});
}

/* ---- the technique ---- */

static void build_begin(ms_tape *tape)
{
    tape->is_meta = ms_parallel_of(tape)->zero.init;
    tape->has_own_linear = true;
}

static void build_end(ms_tape *tape)
{
    ms_zero3 *all = ms_hooks_state(tape, &kind);
    if (all)
        ms_zero3_build(tape, all);
}

static void micro_step(ms_tape *tape, bool is_last)
{
    zero3_of(tape)->is_last = is_last;
}

static void backward_ends(ms_tape *tape)
{
    ms_zero3 *all = zero3_of(tape);
    ms_zero3_reduce(tape, all);
    ms_host_waits(tape); /* for the stream of reductions */
    ms_zero3_release_leftovers(tape, all);
}

static void update_begins(ms_tape *tape)
{
    zero3_prepare_update(tape, zero3_of(tape));
}

static bool update_ends(ms_tape *tape)
{
    return zero3_finish_update(tape, zero3_of(tape));
}

static uint64_t host_bytes(ms_tape *tape, uint64_t states)
{
    return zero3_offload_host_bytes(zero3_of(tape), states);
}

static uint64_t gradient_bytes(ms_tape *tape)
{
    const ms_zero3 *all = zero3_of(tape);
    return all->gradients ? ms_tensor_bytes(tape, all->gradients) : 0;
}

const ms_parallel_technique ms_parallel_zero3 = {.build_begin = build_begin,
                                                 .build_end = build_end,
                                                 .micro_step = micro_step,
                                                 .backward_ends = backward_ends,
                                                 .update_begins = update_begins,
                                                 .update_ends = update_ends,
                                                 .host_bytes = host_bytes,
                                                 .gradient_bytes = gradient_bytes,
                                                 .is_engine = true};
