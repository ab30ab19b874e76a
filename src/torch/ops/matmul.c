/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Batched matrix products, as by torch.matmul of [B, H, .., M, K] x [B, H, .., K, N]: both sides
 * are reshaped to [B*H*.., ., .], which copies if the layout does not allow a view, then bmm.
 */
#include "torch/ops/ops.h"

/* ---- workspace ---- */

/* cuBLAS workspaces, which PyTorch allocates through its caching allocator: up to 2.14 once per
 * thread (forward, autograd) at its first product; from 2.15 on for each product, and freed after
 * it. One row per change, newest first; each was observed in these releases' requests on the null
 * device, for compute capabilities 8.0, 9.0, 10.0 and 12.0. */

enum { HOPPER = 90, BLACKWELL = 100 };

#define DEFAULT_BYTES 8519680u /* ":4096:2:16:8", CUBLAS_WORKSPACE_CONFIG's default */
#define LARGE_BYTES 33554432u
#define LT_BYTES 1048576u

typedef struct workspace_row {
    uint32_t major, minor; /* from this torch on */
    uint64_t bytes, hopper_bytes, blackwell_bytes;
    uint64_t lt_bytes; /* cuBLASLt's own, for products with a bias; 0: it shares the other */
    bool kept;
} workspace_row;

/* clang-format off */
static const workspace_row workspaces[] = {
    {2, 15, DEFAULT_BYTES, LARGE_BYTES, LARGE_BYTES,   LT_BYTES, false},
    {2, 12, DEFAULT_BYTES, LARGE_BYTES, LARGE_BYTES,   0,        true},
    {0, 0,  DEFAULT_BYTES, LARGE_BYTES, DEFAULT_BYTES, LT_BYTES, true},
};

/* clang-format on */

static const char *const names[] = {
    [MS_WORKSPACE_CUBLAS] = "cuBLAS workspace",
    [MS_WORKSPACE_CUBLASLT] = "cuBLASLt workspace",
};

static const workspace_row *row_of(const ms_tape_options *options)
{
    const workspace_row *row = workspaces;
    while (options->torch_major < row->major ||
           (options->torch_major == row->major && options->torch_minor < row->minor))
        row++;
    return row;
}

static uint64_t cublas_bytes(const workspace_row *row, uint32_t capability)
{
    if (capability >= BLACKWELL)
        return row->blackwell_bytes;
    return capability >= HOPPER ? row->hopper_bytes : row->bytes;
}

static void keep(ms_tape *tape, ms_workspace kind, uint64_t bytes)
{
    ms_tensor *slot = &tape->workspaces[tape->on_backward_thread][kind];
    if (*slot || bytes == 0)
        return;
    uint32_t scope = ms_scope_enter(tape, MS_NONE);
    *slot = ms_empty_bytes(tape, bytes, MS_DTYPE_U8);
    tape->scope = scope;
    ms_retain(tape, *slot);
    ms_name_storage(tape, *slot, names[kind], MS_CATEGORY_WORKSPACE);
}

void ms_workspace_use(ms_tape *tape, ms_product product)
{
    if (tape->on_cpu || tape->muted || ms_idle(tape))
        return;
    const workspace_row *row = row_of(&tape->options);
    uint64_t bytes = cublas_bytes(row, tape->options.device->compute_capability);
    bool biased = product == MS_PRODUCT_BIASED;
    if (row->kept) {
        keep(tape, MS_WORKSPACE_CUBLAS, bytes);
        if (biased)
            keep(tape, MS_WORKSPACE_CUBLASLT, row->lt_bytes);
    } else {
        ms_transient(tape, biased ? row->lt_bytes : bytes, MS_DTYPE_U8);
    }
}

/* ---- cpu gemm ---- */

/* Scratch memory of oneDNN's bfloat16 matrix products on the CPU, as requested on a processor with
 * AVX-512 and two threads: fitted to requests for some 120 shapes (docs/semantics/libraries.md).
 * Other processors request other sizes, and runs on them differ only by these buffers. */

enum {
    THREADS = 2,
    ROW_BLOCK = 256,
    COLUMN_BLOCK = 64,
    INNER_STEP = 32,
    SMALLEST_WORK = 16 * 16 * 16,
    PLAIN_BYTES = 1664,
    TRANSPOSED_BYTES = 1792
};

static uint64_t rounded_up(uint64_t n, uint64_t step)
{
    return (n + step - 1) / step * step;
}

/* Rows are cut into equal blocks of at most 256. */
static uint64_t row_blocks(uint64_t rows)
{
    uint64_t blocks = (rows + ROW_BLOCK - 1) / ROW_BLOCK;
    while (rows % blocks)
        blocks++;
    return blocks;
}

/* With a left side stored by columns, threads share the rows, one more for the first where they
 * are odd, and each cuts its own into equal blocks. How numbers that cannot be cut so are shared is
 * not known. */
static uint64_t transposed_rows(uint64_t rows)
{
    enum { SMALLEST_BLOCK = 16 };
    uint64_t own = (rows + THREADS - 1) / THREADS, block = own / row_blocks(own);
    return block < SMALLEST_BLOCK ? rows : THREADS * block;
}

static uint64_t scratch_bytes(const ms_gemm *g)
{
    uint64_t inner = rounded_up(g->inner, INNER_STEP);
    uint64_t columns = g->columns < COLUMN_BLOCK ? g->columns : COLUMN_BLOCK;
    uint64_t packed = (uint64_t)THREADS * inner * COLUMN_BLOCK * 2;
    if (g->transposed)
        return transposed_rows(g->rows) * (4 * columns + 2 * inner) + packed + TRANSPOSED_BYTES;
    uint64_t blocks = row_blocks(g->rows);
    uint64_t tasks = g->batches * blocks * ((g->columns + COLUMN_BLOCK - 1) / COLUMN_BLOCK);
    uint64_t threads = tasks % THREADS == 0 ? THREADS : 1;
    return threads * (g->rows / blocks) * columns * 4 + packed + PLAIN_BYTES;
}

void ms_cpu_gemm_scratch(ms_tape *tape, ms_dtype dtype, ms_gemm gemm)
{
    if (!tape->on_cpu || dtype != MS_DTYPE_BF16 || ms_idle(tape) || gemm.rows == 0)
        return;
    if (gemm.rows < SMALLEST_WORK && gemm.inner < SMALLEST_WORK && gemm.columns < SMALLEST_WORK &&
        gemm.rows * gemm.inner * gemm.columns <= SMALLEST_WORK)
        return;
    ms_transient(tape, scratch_bytes(&gemm), MS_DTYPE_U8);
}

/* ---- matmul ---- */

/* oneDNN's bfloat16 product wants both sides contiguous. */
static void cpu_scratch(ms_tape *tape, ms_tensor a, ms_tensor b, ms_gemm gemm)
{
    if (!tape->on_cpu || ms_info(tape, a)->dtype != MS_DTYPE_BF16)
        return;
    ms_tensor copies[2] = {0};
    const ms_tensor sides[2] = {a, b};
    for (uint32_t i = 0; i < 2; i++) {
        const ms_tensor_info info = *ms_info(tape, sides[i]);
        if (!ms_is_contiguous(&info))
            copies[i] = ms_empty(tape, info.shape, (ms_dtype)info.dtype);
    }
    ms_cpu_gemm_scratch(tape, MS_DTYPE_BF16, gemm);
    ms_consume(tape, copies[1]);
    ms_consume(tape, copies[0]);
}

/* One product out of a and b. */
static void multiply(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape))
        return;
    const ms_shape *left = &ms_info(tape, a)->shape;
    const ms_gemm gemm = {.batches = left->dims[0].value,
                          .rows = left->dims[1].value,
                          .inner = left->dims[2].value,
                          .columns = ms_info(tape, b)->shape.dims[2].value,
                          .transposed = ms_info(tape, a)->strides[2] != 1};
    ms_op_product(tape, ms_op_running(tape), gemm);
    cpu_scratch(tape, a, b, (ms_gemm){gemm.batches, gemm.rows, gemm.inner, gemm.columns, false});
}

static ms_tensor swapped(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape))
        return 0;
    ms_tensor_info info = *ms_info(tape, a);
    ms_shape shape = MS_SHAPE(info.shape.dims[0], info.shape.dims[2], info.shape.dims[1]);
    uint64_t strides[MS_MAX_RANK] = {info.strides[0], info.strides[2], info.strides[1]};
    return ms_alias(tape, a, shape, strides);
}

/* mat2's gradient first. Autocast's casts are their own nodes, so dtypes agree here. */
static void bmm_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    const ms_shape a = ms_input_meta(tape, node, 0)->shape, b = ms_input_meta(tape, node, 1)->shape;
    double flops = 2.0 * (double)ms_elements(&a) * (double)b.dims[2].value;
    uint32_t slot = 0;
    ms_tensor right = ms_node_wants(node, 0) ? node->saved[slot++] : 0;
    ms_tensor left = ms_node_wants(node, 1) ? node->saved[slot] : 0;
    if (left) {
        out[1] = ms_empty(tape, b, dtype);
        ms_tensor turned = swapped(tape, left);
        multiply(tape, turned, grads[0]);
        ms_consume(tape, turned);
    }
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    if (right) {
        out[0] = ms_empty(tape, a, dtype);
        ms_tensor turned = swapped(tape, right);
        multiply(tape, grads[0], turned);
        ms_consume(tape, turned);
    }
    ms_op_work(tape, ms_op_running(tape),
               flops * ((double)ms_node_wants(node, 0) + (double)ms_node_wants(node, 1)), 0, dtype);
}

static const ms_op bmm_op = {"bmm", "BmmBackward0", bmm_backward};

static ms_tensor bmm(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b) {
        ms_consume(tape, a);
        ms_consume(tape, b);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &bmm_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &bmm_op, 2, inputs);
    bool save_b = ms_needs_grad(tape, a), save_a = ms_needs_grad(tape, b);
    if (save_b)
        ms_save(tape, node, b);
    if (save_a)
        ms_save(tape, node, a);
    ms_shape shape = ms_info(tape, a)->shape;
    double flops = 2.0 * (double)ms_elements(&shape);
    shape.dims[2] = ms_info(tape, b)->shape.dims[2];
    flops *= (double)shape.dims[2].value;
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, a)->dtype);
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    multiply(tape, a, b);
    ms_op_work(tape, mark, flops, 0, (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

ms_tensor ms_bmm(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b) {
        ms_consume(tape, a);
        ms_consume(tape, b);
        return 0;
    }
    ms_retain(tape, a);
    ms_retain(tape, b);
    ms_tensor cast_b = ms_autocast_lower(tape, b);
    ms_tensor cast_a = ms_autocast_lower(tape, a);
    ms_tensor out = bmm(tape, cast_a, cast_b);
    ms_consume(tape, ms_unown(tape, a));
    ms_consume(tape, ms_unown(tape, b));
    return out;
}

/* ---- base + c * product: each gradient is a product, and then that times c ---- */

static ms_tensor scaled_product(ms_tape *tape, ms_shape shape, ms_tensor a, ms_tensor b)
{
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, a)->dtype);
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    multiply(tape, a, b);
    return ms_idle(tape) ? 0 : ms_scale(tape, out);
}

static void baddbmm_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_shape a = ms_input_meta(tape, node, 0)->shape, b = ms_input_meta(tape, node, 1)->shape;
    uint32_t slot = 0;
    ms_tensor right = ms_node_wants(node, 0) ? node->saved[slot++] : 0;
    ms_tensor left = ms_node_wants(node, 1) ? node->saved[slot] : 0;
    if (right) {
        ms_tensor turned = swapped(tape, right);
        out[0] = scaled_product(tape, a, grads[0], turned);
        ms_consume(tape, turned);
    }
    if (left && !ms_idle(tape)) {
        ms_tensor turned = swapped(tape, left);
        out[1] = scaled_product(tape, b, turned, grads[0]);
        ms_consume(tape, turned);
    }
}

static const ms_op baddbmm_op = {"baddbmm", "BaddbmmBackward0", baddbmm_backward};

ms_tensor ms_baddbmm(ms_tape *tape, ms_tensor base, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !base || !a || !b)
        return 0;
    ms_tensor lowered = ms_autocast_lower(tape, base);
    ms_op_mark mark = ms_op_begin(tape, &baddbmm_op);
    ms_tensor inputs[] = {a, b, lowered};
    uint32_t node = ms_record(tape, &baddbmm_op, 2, inputs);
    if (ms_needs_grad(tape, a))
        ms_save(tape, node, b);
    if (ms_needs_grad(tape, b))
        ms_save(tape, node, a);
    ms_shape shape = ms_info(tape, a)->shape;
    double flops = 2.0 * (double)ms_elements(&shape);
    shape.dims[2] = ms_info(tape, b)->shape.dims[2];
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, a)->dtype);
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    multiply(tape, a, b);
    ms_op_work(tape, mark, flops * (double)shape.dims[2].value, 0,
               (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, node, 3, inputs, out);
}

/* [B, H, ., .] as [B*H, ., .]; one head may stand for all. */
static ms_tensor as_batches(ms_tape *tape, ms_tensor a, ms_dim heads)
{
    if (ms_idle(tape) || !a)
        return a;
    ms_shape s = ms_info(tape, a)->shape;
    if (s.dims[1].value != heads.value) {
        s.dims[1] = heads;
        a = ms_expand(tape, a, s);
    }
    ms_dim batches = s.dims[0];
    for (uint32_t i = 1; i + 2 < s.rank; i++)
        batches = ms_dim_mul(&tape->trace->symbols, batches, s.dims[i]);
    return ms_reshape(tape, a, MS_SHAPE(batches, s.dims[s.rank - 2], s.dims[s.rank - 1]));
}

ms_tensor ms_matmul(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b) {
        ms_consume(tape, a);
        ms_consume(tape, b);
        return 0;
    }
    ms_retain(tape, a);
    ms_retain(tape, b);
    ms_tensor cast_b = ms_autocast_lower(tape, b);
    ms_tensor cast_a = ms_autocast_lower(tape, a);
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[shape.rank - 1] = ms_info(tape, b)->shape.dims[shape.rank - 1];
    ms_retain(tape, cast_a);
    ms_retain(tape, cast_b);
    ms_tensor a3 = as_batches(tape, cast_a, shape.dims[1]);
    ms_tensor b3 = as_batches(tape, cast_b, shape.dims[1]);
    ms_retain(tape, a3);
    ms_retain(tape, b3);
    ms_tensor product = bmm(tape, a3, b3);
    ms_release(tape, b3);
    ms_release(tape, a3);
    ms_tensor out = ms_view(tape, product, shape);
    ms_release(tape, cast_a);
    ms_release(tape, cast_b);
    ms_consume(tape, ms_unown(tape, a));
    ms_consume(tape, ms_unown(tape, b));
    return out;
}
