/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/clip.h"

#include "torch/ops/ops.h"
#include "run/step/optimizer.h"
#include "run/step/run.h"
#include "torch/autograd/work.h"
#include "torch/parallel/parallel.h"
#include "torch/treatments/host_parameters.h"

static const ms_op clip_op = {"clip_grad_norm", NULL, NULL};
enum { NORM_CHUNK_ELEMENTS = 65536 };

/* The host works on the gradients that it keeps, and the device waits. */
static void work_on_host(ms_tape *tape, uint64_t passes)
{
    uint64_t bytes = ms_host_parameters_bytes(tape);
    if (bytes)
        ms_work_wait(tape, ms_work_begin(tape, ms_work_of(MS_WORK_HOST_UPDATE, passes * bytes)));
}

/* What is clipped: the sum in fp32 where there is one. */
static ms_tensor gradient_of(const ms_parameter *parameter)
{
    return parameter->sum ? parameter->sum : parameter->grad;
}

/* ---- groups: DTensors over ranks that share products, and the others ---- */

typedef struct clip_group {
    bool is_distributed;
    ms_dtype dtype;
    uint32_t rounds; /* dimensions of the mesh over which gradients are split */
    bool is_part;    /* gradients of `dtype` alone, of a group with several types */
} clip_group;

static bool belongs(ms_tape *tape, const ms_parameter *parameter, const clip_group *group)
{
    ms_tensor grad = gradient_of(parameter);
    bool is_other = group->is_part && grad && ms_info(tape, grad)->dtype != group->dtype;
    return parameter->is_distributed == group->is_distributed && !is_other;
}

/* Of a DTensor: its gradient is a sum to be made, or it is whole on every rank. */
static bool is_partial(const ms_parameter *parameter)
{
    return parameter->redistributes && parameter->ranks <= 1;
}

static bool is_whole(const ms_parameter *parameter)
{
    return parameter->is_distributed && (parameter->redistributes || parameter->ranks <= 1);
}

/* Gradients in fp32 beside some of a lower type: of parameters that stay in fp32, or of adapters
 * beside modules that are saved whole. The type that appears first comes last. */
static bool has_several_types(ms_tape *tape, ms_dtype types[2])
{
    const ms_run_config *run = ms_step_run(tape);
    int left = 2;
    if (run->parallel.layout.kind != MS_PARALLEL_NONE ||
        run->training.accumulation == MS_ACCUMULATE_F32)
        return false;
    for (uint32_t i = 0; i < tape->parameters.count && left > 0; i++) {
        ms_tensor grad = gradient_of(&tape->parameters.items[i]);
        ms_dtype dtype = grad ? (ms_dtype)ms_info(tape, grad)->dtype : run->dtype;
        if (grad && (left == 2 || dtype != types[1]))
            types[--left] = dtype;
    }
    return left == 0;
}

/* Partial results in fp32, one for each chunk of a gradient on the device. Up to 2.14 each has as
 * many as the largest; from 2.15 on they are packed, and where each begins is a tensor of its own.
 */
typedef struct norm_buffers {
    ms_tensor begins, partial;
} norm_buffers;

static bool packs_partials(const ms_tape *tape)
{
    enum { FIRST_MINOR = 15 };
    return tape->options.torch_major > 2 || tape->options.torch_minor >= FIRST_MINOR;
}

static norm_buffers make_norm_buffers(ms_tape *tape, const clip_group *group)
{
    uint64_t most = 0, count = 0, all = 0;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        ms_tensor grad = gradient_of(parameter);
        if (!grad || !belongs(tape, parameter, group))
            continue;
        uint64_t chunks = (ms_elements(&ms_info(tape, grad)->shape) + NORM_CHUNK_ELEMENTS - 1) /
                          NORM_CHUNK_ELEMENTS;
        most = chunks > most ? chunks : most;
        all += chunks;
        count++;
    }
    norm_buffers buffers = {0};
    if (packs_partials(tape))
        buffers.begins = ms_empty_bytes(tape, 8 * (count + 1), MS_DTYPE_U64);
    uint64_t partials = packs_partials(tape) ? all : count * most;
    buffers.partial = ms_empty_bytes(tape, 4 * partials, MS_DTYPE_F32);
    return buffers;
}

typedef ms_vec(ms_tensor) norm_list;

static void push(ms_tape *tape, norm_list *list, ms_tensor tensor)
{
    if (!ms_vec_push(list, tensor))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* One norm for each gradient on the device, or for each that the host keeps. */
static void push_norms(ms_tape *tape, norm_list *norms, bool at_home, const clip_group *group)
{
    ms_shape scalar = {.rank = 0};
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        bool wanted = at_home ? ms_host_parameters_has(tape, i) : gradient_of(parameter) != 0;
        if (wanted && belongs(tape, parameter, group))
            push(tape, norms, ms_empty(tape, scalar, group->dtype));
    }
}

static void drop_norms(ms_tape *tape, norm_list *norms, uint32_t left)
{
    while (norms->count > left)
        ms_consume(tape, norms->items[--norms->count]);
}

/* Gradients without an element, of shards past the last row, get a norm of their own, a zero; as
 * many of the norms before go, the last ones. */
static void replace_norms_of_nothing(ms_tape *tape, norm_list *norms, const clip_group *group)
{
    ms_shape scalar = {.rank = 0};
    const uint32_t count = norms->count;
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        ms_tensor grad = gradient_of(parameter);
        if (grad && belongs(tape, parameter, group) && !ms_elements(&ms_info(tape, grad)->shape))
            push(tape, norms, ms_empty(tape, scalar, group->dtype));
    }
    const uint32_t empty = norms->count - count;
    if (tape->status != MS_OK)
        return;
    for (uint32_t i = count - empty; i < count; i++) {
        ms_consume(tape, norms->items[i]);
        norms->items[i] = norms->items[i + empty];
    }
    norms->count = count;
}

/* The sums of partial gradients. */
static void push_sums(ms_tape *tape, norm_list *list, const clip_group *group)
{
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        if (parameter->grad && belongs(tape, parameter, group) && is_partial(parameter))
            push(tape, list, ms_empty_like(tape, parameter->grad, group->dtype));
    }
}

/* Norms of what every rank has whole, divided by their number. */
static void push_shares(ms_tape *tape, norm_list *list, const clip_group *group)
{
    ms_shape scalar = {.rank = 0};
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        if (parameter->grad && belongs(tape, parameter, group) && is_whole(parameter))
            push(tape, list, ms_empty(tape, scalar, group->dtype));
    }
}

/* The stack of norms, squared, all-reduced, and the root of that: the last result, floating. */
static ms_tensor reduce_stack(ms_tape *tape, ms_tensor stacked, const clip_group *group)
{
    ms_tensor last = 0;
    for (uint32_t i = 0; i < group->rounds; i++) {
        ms_tensor squares = ms_empty_like(tape, stacked, group->dtype);
        ms_tensor sums = ms_empty_like(tape, stacked, group->dtype);
        ms_tensor roots = ms_empty_like(tape, stacked, group->dtype);
        ms_consume(tape, squares);
        ms_consume(tape, sums);
        ms_consume(tape, last);
        last = roots;
    }
    return last;
}

/* foreach_norm(grads) */
static void push_device_norms(ms_tape *tape, norm_list *norms, const clip_group *group)
{
    norm_buffers buffers = {0};
    if (!tape->on_cpu)
        buffers = make_norm_buffers(tape, group);
    push_norms(tape, norms, false, group);
    replace_norms_of_nothing(tape, norms, group);
    ms_consume(tape, buffers.partial);
    ms_consume(tape, buffers.begins);
}

/* The same where gradients have several types: one call for each. */
static void push_norms_by_type(ms_tape *tape, norm_list *norms, const clip_group *group)
{
    ms_dtype types[2];
    if (!has_several_types(tape, types)) {
        push_device_norms(tape, norms, group);
        return;
    }
    for (int i = 0; i < 2; i++) {
        const clip_group part = {group->is_distributed, types[i], group->rounds, true};
        push_device_norms(tape, norms, &part);
    }
}

/* norm = vector_norm(stack(norm.to(device) for norm in foreach_norm(grads))) */
static ms_tensor total_norm(ms_tape *tape, const clip_group *group)
{
    norm_list norms = {0}, placed = {0};
    ms_shape scalar = {.rank = 0};
    push_sums(tape, &placed, group);
    push_norms_by_type(tape, &norms, group);
    drop_norms(tape, &placed, 0);
    uint32_t of_device = norms.count;
    push_norms(tape, &norms, true, group);
    push_shares(tape, &placed, group);
    ms_tensor stacked =
        ms_empty_bytes(tape, ms_dtype_bytes(group->dtype) * norms.count, group->dtype);
    drop_norms(tape, &placed, 0);
    drop_norms(tape, &norms, of_device);
    ms_tensor roots = reduce_stack(tape, stacked, group);
    ms_tensor norm = ms_empty(tape, scalar, group->dtype);
    ms_consume(tape, roots);
    ms_consume(tape, stacked);
    drop_norms(tape, &norms, 0);
    ms_vec_free(&norms);
    ms_vec_free(&placed);
    return norm;
}

static void clip_with(ms_tape *tape, const clip_group *group)
{
    ms_shape scalar = {.rank = 0};
    norm_list placed = {0};
    ms_tensor norm = total_norm(tape, group);
    ms_tensor sum = ms_empty(tape, scalar, group->dtype);
    ms_tensor reciprocal = ms_empty(tape, scalar, group->dtype);
    ms_tensor coefficient = ms_empty(tape, scalar, group->dtype);
    ms_consume(tape, reciprocal);
    ms_consume(tape, sum);
    ms_tensor clamped = ms_empty(tape, scalar, group->dtype);
    push_sums(tape, &placed, group);
    drop_norms(tape, &placed, 0);
    ms_vec_free(&placed);
    ms_consume(tape, coefficient);
    ms_consume(tape, clamped);
    ms_consume(tape, norm);
}

static bool has_group(const ms_tape *tape, bool is_distributed)
{
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        if (tape->parameters.items[i].is_distributed == is_distributed)
            return true;
    return false;
}

/* Gradients of a sharded model have the type of the shards, an adapter's that of the adapter. */
static ms_dtype norm_dtype(ms_tape *tape, const ms_run_config *run)
{
    ms_dtype types[2];
    bool shards = ms_layout_shards(&run->parallel.layout);
    if (run->training.accumulation == MS_ACCUMULATE_F32 || has_several_types(tape, types))
        return MS_DTYPE_F32;
    if (shards)
        return run->parallel.trained_dtype;
    for (uint32_t i = 0; i < tape->parameters.count && run->adapter; i++)
        if (tape->parameters.items[i].grad)
            return (ms_dtype)ms_info(tape, tape->parameters.items[i].grad)->dtype;
    return run->dtype;
}

void ms_clip_gradients(ms_tape *tape)
{
    enum { NORM_PASSES = 1, SCALE_PASSES = 2 };
    const ms_run_config *run = ms_step_run(tape);
    work_on_host(tape, NORM_PASSES);
    ms_op_mark mark = ms_op_begin(tape, &clip_op);
    if (ms_parallel_on_host(tape).weight_bytes || ms_parallel_clip(tape)) {
        ms_op_end(tape, mark);
        return;
    }
    uint32_t shards =
        run->parallel.layout.kind == MS_PARALLEL_FSDP2 && run->parallel.layout.shards > 1;
    clip_group group = {true, norm_dtype(tape, run), shards + 1, false};
    bool any = has_group(tape, true);
    if (any)
        clip_with(tape, &group);
    group = (clip_group){false, group.dtype, shards, false};
    if (!any || has_group(tape, false))
        clip_with(tape, &group);
    ms_op_end(tape, mark);
    work_on_host(tape, SCALE_PASSES);
}
