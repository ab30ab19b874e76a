/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * grouped_mm: products of groups of rows with one matrix per group. Data-centre GPUs from compute
 * capability 9.0 on have a bf16 kernel, which needs a workspace; otherwise PyTorch runs one product
 * after the other. Below 8.0 PyTorch has no implementation, and the framework's own is used.
 */
#include "torch/ops/moe/grouped.h"

#include "input/config/run/experts.h"
#include "torch/ops/ops.h"

/* ---- groups ---- */

/* Products with weights of GPTQ and AWQ as in GPT-QModel 7.7 (nn_modules/qlinear/torch.py,
 * gemm_awq.py; gptqmodel_ext/awq). */

enum { WORD_BITS = 32, WORD_BYTES = 4, INDEX_BYTES = 8 };

static const ms_op dequantize_op = {.name = "dequantize"};

/* ---- GPTQ: operator by operator, as the kernel that trains does it; torch.compile may fuse it
 * ----
 */

/* Shifts every word for each number in it, cuts the result to bytes, masks it. */
static ms_tensor unpack(ms_tape *tape, uint64_t count, uint64_t code_bytes)
{
    ms_tensor shifted = ms_empty_bytes(tape, WORD_BYTES * count, MS_DTYPE_I32);
    ms_tensor cut = ms_empty_bytes(tape, code_bytes * count, MS_DTYPE_U8);
    ms_consume(tape, shifted);
    ms_tensor codes = ms_empty_bytes(tape, code_bytes * count, MS_DTYPE_U8);
    ms_consume(tape, cut);
    return codes;
}

/* Rows by the group of each input, whose numbers become indices first. */
static ms_tensor pick(ms_tape *tape, const ms_gptq_weight *w, uint64_t number_bytes)
{
    ms_tensor index = ms_empty_bytes(tape, INDEX_BYTES * w->in.value, MS_DTYPE_I64);
    ms_tensor rows = ms_empty_bytes(tape, number_bytes * w->in.value * w->out.value, MS_DTYPE_U8);
    ms_consume(tape, index);
    return rows;
}

ms_tensor ms_dequantize_gptq(ms_tape *tape, const ms_gptq_weight *w)
{
    if (ms_idle(tape))
        return 0;
    uint64_t code_bytes = w->bits == 8 ? 2 : 1, in_word = WORD_BITS / w->bits;
    uint64_t zeros_of_group = (w->out.value + in_word - 1) / in_word * in_word;
    uint64_t rows = (w->in.value + in_word - 1) / in_word * in_word;
    ms_op_mark mark = ms_op_begin(tape, &dequantize_op);
    ms_tensor zeros = unpack(tape, w->groups * zeros_of_group, code_bytes);
    ms_tensor codes = unpack(tape, rows * w->out.value, code_bytes);
    ms_tensor scales = pick(tape, w, ms_dtype_bytes(MS_DTYPE_F16));
    ms_tensor picked = pick(tape, w, code_bytes);
    ms_tensor centred = ms_empty_bytes(tape, code_bytes * w->in.value * w->out.value, MS_DTYPE_U8);
    ms_consume(tape, picked);
    ms_tensor weight = ms_empty(tape, MS_SHAPE(w->in, w->out), MS_DTYPE_F16);
    ms_consume(tape, scales);
    ms_consume(tape, centred);
    ms_consume(tape, zeros);
    ms_consume(tape, codes);
    ms_op_operand(tape, mark, weight, true);
    ms_op_end(tape, mark);
    return weight;
}

/* ---- a sum in place, on a view ---- */

static void add_into_view_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                   ms_tensor *out)
{
    (void)node;
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_shape shape = ms_info(tape, grads[0])->shape;
    out[0] = ms_empty(tape, shape, dtype);
    ms_consume(tape, ms_empty(tape, shape, dtype));
}

static const ms_op add_into_view_op = {"add_", "CopySlices", add_into_view_backward};

ms_tensor ms_add_into_view(ms_tape *tape, ms_tensor view, ms_tensor bias)
{
    if (ms_idle(tape) || !view)
        return 0;
    (void)bias;
    ms_op_mark mark = ms_op_begin(tape, &add_into_view_op);
    uint32_t node = ms_record(tape, &add_into_view_op, 1, &view);
    ms_change_in_place(tape, view);
    const ms_tensor_info info = *ms_info(tape, view);
    return ms_op_finish(tape, mark, node, 1, &view, ms_alias(tape, view, info.shape, info.strides));
}

/* ---- AWQ ---- */

static ms_tensor dequantize_awq(ms_tape *tape, ms_dim in, ms_dim out)
{
    ms_op_mark mark = ms_op_begin(tape, &dequantize_op);
    ms_tensor weight = ms_empty(tape, MS_SHAPE(in, out), MS_DTYPE_F16);
    ms_op_operand(tape, mark, weight, true);
    ms_op_end(tape, mark);
    return weight;
}

enum { OUT, OUT_SYMBOL, NUMBERS }; /* of a node */

enum { MOST_FUSED_ROWS = 1024, SPLITS = 8 };

static void awq_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_meta meta = *ms_input_meta(tape, node, 0);
    ms_dim columns = {node->numbers[OUT], (uint32_t)node->numbers[OUT_SYMBOL]};
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor weight = dequantize_awq(tape, meta.shape.dims[meta.shape.rank - 1], columns);
    weight = ms_to(tape, weight, dtype);
    out[0] = ms_empty(tape, meta.shape, dtype);
    if (out[0])
        ms_info(tape, out[0])->is_view = true;
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    ms_op_product(
        tape, ms_op_running(tape),
        ms_rows_times(&ms_info(tape, grads[0])->shape, meta.shape.dims[meta.shape.rank - 1].value));
    ms_op_work(tape, ms_op_running(tape),
               2.0 * (double)ms_elements(&meta.shape) * (double)columns.value, 0, dtype);
    ms_consume(tape, weight);
}

static const ms_op awq_op = {"matmul_awq", "AwqGemmFnBackward", awq_backward};

/* Many rows: by the whole weight; few: in parts of the sum, in fp32. */
static ms_tensor awq_product(ms_tape *tape, ms_dim in, ms_shape shape)
{
    ms_dim columns = shape.dims[shape.rank - 1];
    uint64_t elements = ms_elements(&shape);
    if (elements / columns.value > MOST_FUSED_ROWS) {
        ms_tensor weight = dequantize_awq(tape, in, columns);
        ms_tensor out = ms_empty(tape, shape, MS_DTYPE_F16);
        ms_workspace_use(tape, MS_PRODUCT_PLAIN);
        ms_consume(tape, weight);
        return out;
    }
    ms_tensor parts = ms_empty(
        tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, SPLITS * elements)), MS_DTYPE_F32);
    ms_tensor out = ms_empty(tape, shape, MS_DTYPE_F16);
    ms_consume(tape, parts);
    return out;
}

ms_tensor ms_matmul_awq(ms_tape *tape, ms_tensor x, ms_dim columns, ms_tensor bias)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &awq_op);
    uint32_t node = ms_record(tape, &awq_op, 1, &x);
    ms_node_numbers(tape, node, NUMBERS, (uint64_t[]){columns.value, columns.symbol});
    ms_shape shape = ms_info(tape, x)->shape;
    ms_dim in = shape.dims[shape.rank - 1];
    ms_op_product(tape, mark, ms_rows_times(&shape, columns.value));
    ms_op_work(tape, mark, 2.0 * (double)ms_elements(&shape) * (double)columns.value, 0,
               MS_DTYPE_F16);
    shape.dims[shape.rank - 1] = columns;
    ms_tensor out = awq_product(tape, in, shape);
    if (bias) {
        ms_tensor sum = ms_empty(tape, shape, MS_DTYPE_F16);
        ms_consume(tape, out);
        out = sum;
    }
    return ms_op_finish(tape, mark, node, 1, &x, out);
}

/* ---- grouped ---- */

enum { GROUPED_X, GROUPED_WEIGHTS }; /* inputs */

/* One product as the library counts it: as if all groups were alike. */
typedef struct group_shape {
    uint64_t groups, rows, columns;
} group_shape;

enum { AMPERE = 80, HOPPER = 90, BLACKWELL = 100, NEXT = 110 };

static bool has_kernel(const ms_tape *tape, ms_dtype dtype)
{
    uint32_t capability = tape->options.device->compute_capability;
    return !tape->on_cpu && dtype == MS_DTYPE_BF16 && capability >= HOPPER && capability < NEXT;
}

static bool is_stand_in(const ms_tape *tape)
{
    uint32_t capability = tape->options.device->compute_capability;
    return !tape->on_cpu && capability > 0 && capability < AMPERE;
}

/* The kernel's problem sizes and pointers, and a workspace per multiprocessor: CUTLASS's on Hopper,
 * and on Blackwell what its two tile shapes take. */
static void kernel_workspace(ms_tape *tape, group_shape g)
{
    enum {
        GROUP_BYTES = 60,
        HOPPER_BYTES = 512,
        SMALL_TILE = 128,
        SMALL_BYTES = 5376,
        LARGE_BYTES = 5888
    };
    const ms_device *device = tape->options.device;
    bool small = g.rows <= SMALL_TILE || g.columns <= SMALL_TILE;
    uint64_t each = device->compute_capability < BLACKWELL ? HOPPER_BYTES
                    : small                                ? SMALL_BYTES
                                                           : LARGE_BYTES;
    ms_tensor problems = ms_empty_bytes(tape, GROUP_BYTES * g.groups, MS_DTYPE_U8);
    ms_transient(tape, each * device->multiprocessors, MS_DTYPE_U8);
    ms_consume(tape, problems);
}

static void workspace(ms_tape *tape, ms_dtype dtype, group_shape g)
{
    if (has_kernel(tape, dtype))
        kernel_workspace(tape, g);
    else
        ms_workspace_use(tape, MS_PRODUCT_PLAIN);
}

void ms_grouped_workspace(ms_tape *tape, ms_dtype dtype, uint64_t groups, uint64_t rows,
                          uint64_t columns)
{
    workspace(tape, dtype, (group_shape){groups, rows, columns});
}

/* Each group is a product of its own; the sizes of groups are data, and taken as equal: those of
 * one size are noted together. `gemm` is one group's without its number of rows; of transposed ones
 * that is the inner size. */
static void multiply(ms_tape *tape, ms_dtype dtype, uint64_t rows, uint64_t groups, ms_gemm gemm)
{
    uint64_t *size = gemm.transposed ? &gemm.inner : &gemm.rows;
    for (uint64_t i = 0, next; i < groups; i = next) {
        *size = ms_expert_rows(MS_ROUTING_BALANCED, rows, 1, groups, i);
        for (next = i + 1; next < groups; next++)
            if (ms_expert_rows(MS_ROUTING_BALANCED, rows, 1, groups, next) != *size)
                break;
        if (*size == 0)
            continue;
        ms_gemm equal = gemm;
        equal.batches = next - i;
        ms_op_product(tape, ms_op_running(tape), equal);
        for (uint64_t k = i; k < next && tape->on_cpu && dtype == MS_DTYPE_BF16; k++)
            ms_cpu_gemm_scratch(tape, dtype, gemm);
    }
}

static double flops(uint64_t rows, const ms_shape *weights)
{
    return 2.0 * (double)rows * (double)weights->dims[1].value * (double)weights->dims[2].value;
}

/* The weights' gradient first, in their strides. */
static ms_tensor weights_gradient(ms_tape *tape, const ms_shape *weights, const uint64_t *strides,
                                  ms_tensor grad, uint64_t rows)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grad)->dtype;
    ms_tensor out = ms_empty_strided(tape, *weights, strides, dtype);
    uint64_t groups = weights->dims[0].value;
    uint64_t inner = weights->dims[1].value, columns = weights->dims[2].value;
    bool by_columns = strides[1] == 1; /* then the kernel makes its transpose */
    workspace(tape, dtype,
              (group_shape){groups, by_columns ? columns : inner, by_columns ? inner : columns});
    multiply(tape, dtype, rows, groups,
             (ms_gemm){.batches = 1, .rows = columns, .columns = inner, .transposed = true});
    return out;
}

static ms_tensor rows_gradient(ms_tape *tape, const ms_meta *x, const ms_shape *weights,
                               ms_tensor grad)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grad)->dtype;
    ms_tensor out = ms_empty(tape, x->shape, dtype);
    uint64_t groups = weights->dims[0].value, rows = x->shape.dims[0].value;
    uint64_t inner = weights->dims[1].value, columns = weights->dims[2].value;
    workspace(tape, dtype, (group_shape){groups, rows / groups, inner});
    multiply(tape, dtype, rows, groups,
             (ms_gemm){.batches = 1, .inner = columns, .columns = inner});
    return out;
}

static void grouped_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_meta x = *ms_input_meta(tape, node, GROUPED_X);
    const ms_shape weights = ms_input_meta(tape, node, GROUPED_WEIGHTS)->shape;
    uint64_t rows = x.shape.dims[0].value;
    bool wants_weights = ms_node_wants(node, GROUPED_WEIGHTS);
    bool wants_x = ms_node_wants(node, GROUPED_X);
    if (wants_weights)
        out[GROUPED_WEIGHTS] = weights_gradient(tape, &weights, node->numbers, grads[0], rows);
    if (wants_x)
        out[GROUPED_X] = rows_gradient(tape, &x, &weights, grads[0]);
    if (!ms_idle(tape))
        ms_op_work(tape, ms_op_running(tape), (wants_weights + wants_x) * flops(rows, &weights), 0,
                   (ms_dtype)ms_info(tape, grads[0])->dtype);
}

/* Both gradients, wanted or not. */
static void stand_in_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_meta x = *ms_input_meta(tape, node, GROUPED_X);
    const ms_shape weights = ms_input_meta(tape, node, GROUPED_WEIGHTS)->shape;
    uint64_t rows = x.shape.dims[0].value;
    out[GROUPED_X] = rows_gradient(tape, &x, &weights, grads[0]);
    out[GROUPED_WEIGHTS] = weights_gradient(tape, &weights, node->numbers, grads[0], rows);
    for (uint32_t i = 0; i < 2; i++)
        if (!ms_node_wants(node, i)) {
            ms_consume(tape, out[i]);
            out[i] = 0;
        }
    if (!ms_idle(tape))
        ms_op_work(tape, ms_op_running(tape), 2 * flops(rows, &weights), 0,
                   (ms_dtype)ms_info(tape, grads[0])->dtype);
}

static const ms_op grouped_op = {"_grouped_mm", "GroupedMmBackward0", grouped_backward};

static const ms_op stand_in_op = {"grouped_mm_fallback", "GroupedMmFallbackBackward",
                                  stand_in_backward};

static void save(ms_tape *tape, uint32_t node, ms_tensor x, ms_tensor weights, ms_tensor offsets)
{
    bool both = is_stand_in(tape);
    ms_node_numbers(tape, node, 3, ms_info(tape, weights)->strides);
    if (both || ms_needs_grad(tape, x))
        ms_save(tape, node, weights);
    ms_save(tape, node, offsets);
    if (both || ms_needs_grad(tape, weights))
        ms_save(tape, node, x);
}

ms_tensor ms_grouped_mm(ms_tape *tape, ms_tensor x, ms_tensor weights, ms_tensor offsets)
{
    if (ms_idle(tape) || !x || !weights)
        return 0;
    const ms_op *op = is_stand_in(tape) ? &stand_in_op : &grouped_op;
    ms_op_mark mark = ms_op_begin(tape, op);
    uint32_t node = ms_record(tape, op, 2, (ms_tensor[]){x, weights});
    save(tape, node, x, weights, offsets);
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_shape shape = ms_info(tape, x)->shape, stack = ms_info(tape, weights)->shape;
    uint64_t rows = shape.dims[0].value, groups = stack.dims[0].value;
    shape.dims[1] = stack.dims[2];
    ms_tensor out = ms_empty(tape, shape, dtype);
    workspace(tape, dtype, (group_shape){groups, rows / groups, stack.dims[2].value});
    multiply(tape, dtype, rows, groups,
             (ms_gemm){.batches = 1, .inner = stack.dims[1].value, .columns = stack.dims[2].value});
    ms_op_work(tape, mark, flops(rows, &stack), 0, dtype);
    return ms_op_finish(tape, mark, node, 3, (ms_tensor[]){x, weights, offsets}, out);
}
