/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/clip.h"

#include "ops/ops.h"
#include "step/optimizer.h"
#include "step/run.h"
#include "autograd/work.h"
#include "parallel/parallel.h"
#include "treatments/host_parameters.h"

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

/* That of the weights, or of their shards. */
static ms_dtype type_of_gradients(ms_tape *tape)
{
    const ms_run_config *run = ms_step_run(tape);
    return ms_layout_shards(&run->parallel.layout) ? run->parallel.shard_dtype : run->dtype;
}

/* One partial result per chunk of the largest gradient on the device for each, in fp32. */
static uint64_t norm_buffer_bytes(ms_tape *tape)
{
    uint64_t most = 0, count = 0;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        ms_tensor grad = gradient_of(&tape->parameters.items[i]);
        if (!grad)
            continue;
        uint64_t elements = ms_elements(&ms_info(tape, grad)->shape);
        most = elements > most ? elements : most;
        count++;
    }
    return 4 * count * ((most + NORM_CHUNK_ELEMENTS - 1) / NORM_CHUNK_ELEMENTS);
}

typedef ms_vec(ms_tensor) norm_list;

/* One norm for each gradient on the device, or for each that the host keeps. */
static void push_norms(ms_tape *tape, norm_list *norms, bool at_home, ms_dtype dtype)
{
    ms_shape scalar = {.rank = 0};
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        bool wanted = at_home ? ms_host_parameters_has(tape, i) : gradient_of(parameter) != 0;
        if (wanted && !ms_vec_push(norms, ms_empty(tape, scalar, dtype)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

static void drop_norms(ms_tape *tape, norm_list *norms, uint32_t left)
{
    while (norms->count > left)
        ms_consume(tape, norms->items[--norms->count]);
}

/* Norms of shards: their squares are summed over the ranks. Returns the roots, or 0. */
static ms_tensor norms_of_ranks(ms_tape *tape, uint64_t bytes, ms_dtype dtype)
{
    if (!ms_parallel_norms_are_partial(tape))
        return 0;
    ms_tensor squares = ms_empty_bytes(tape, bytes, dtype);
    ms_tensor sums = ms_empty_bytes(tape, bytes, dtype);
    ms_tensor roots = ms_empty_bytes(tape, bytes, dtype);
    ms_consume(tape, squares);
    ms_consume(tape, sums);
    return roots;
}

/* norm = vector_norm(stack(norm.to(device) for norm in foreach_norm(grads))) */
static ms_tensor total_norm(ms_tape *tape, ms_dtype dtype)
{
    norm_list norms = {0};
    ms_shape scalar = {.rank = 0};
    ms_tensor partial =
        tape->on_cpu ? 0 : ms_empty_bytes(tape, norm_buffer_bytes(tape), MS_DTYPE_F32);
    push_norms(tape, &norms, false, dtype);
    ms_consume(tape, partial);
    uint32_t of_device = norms.count;
    push_norms(tape, &norms, true, dtype);
    uint64_t bytes = ms_dtype_bytes(dtype) * (uint64_t)norms.count;
    ms_tensor stacked = ms_empty_bytes(tape, bytes, dtype);
    drop_norms(tape, &norms, of_device);
    ms_tensor roots = norms_of_ranks(tape, bytes, dtype);
    ms_tensor norm = ms_empty(tape, scalar, dtype);
    ms_consume(tape, roots);
    ms_consume(tape, stacked);
    drop_norms(tape, &norms, 0);
    ms_vec_free(&norms);
    return norm;
}

void ms_clip_gradients(ms_tape *tape)
{
    enum { NORM_PASSES = 1, SCALE_PASSES = 2 };
    work_on_host(tape, NORM_PASSES);
    ms_op_mark mark = ms_op_begin(tape, &clip_op);
    if (ms_parallel_on_host(tape).weight_bytes || ms_parallel_clip(tape)) {
        ms_op_end(tape, mark);
        return;
    }
    bool widens = ms_step_run(tape)->training.accumulation == MS_ACCUMULATE_F32;
    ms_dtype dtype = widens ? MS_DTYPE_F32 : type_of_gradients(tape);
    ms_shape scalar = {.rank = 0};
    ms_tensor norm = total_norm(tape, dtype);
    ms_tensor sum = ms_empty(tape, scalar, dtype);
    ms_tensor reciprocal = ms_empty(tape, scalar, dtype);
    ms_tensor coefficient = ms_empty(tape, scalar, dtype);
    ms_consume(tape, reciprocal);
    ms_consume(tape, sum);
    ms_tensor clamped = ms_empty(tape, scalar, dtype);
    ms_consume(tape, coefficient);
    ms_consume(tape, clamped);
    ms_consume(tape, norm);
    ms_op_end(tape, mark);
    work_on_host(tape, SCALE_PASSES);
}
