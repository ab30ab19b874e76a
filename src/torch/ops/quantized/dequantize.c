/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products with packed weights (bitsandbytes 0.50, autograd/_functions.py: MatMul4Bit). The weight
 * is dequantised in forward, except for few rows, and again in backward; only existing tensors are
 * saved.
 */
#include "torch/ops/quantized/dequantize.h"

#include "torch/autograd/cuda_reduce.h"
#include "torch/autograd/graph.h"
#include "torch/ops/ops.h"

/* ---- fused 4bit ---- */

enum {
    ALWAYS_ROWS = 4,
    VECTOR_ROWS = 7, /* a kernel without tensor cores */
    MOST_ROWS = 1536,
    MOST_ROWS_OF_LARGE = 512,
    SMALL_WEIGHT = 4 << 20,
    BLOCK_OUTPUTS = 64,
    SCALE_BLOCK = 64
};

typedef enum arch {
    TURING = 1 << 0,
    A100 = 1 << 1,
    AMPERE = 1 << 2, /* 8.6 */
    HOPPER = 1 << 3,
    BLACKWELL = 1 << 4, /* 10.x */
    RTX_50 = 1 << 5,    /* 12.0 */
    SPARK = 1 << 6,     /* 12.1 */
    OTHERS = 1 << 7,    /* 8.9 above all */
    MEASURED_NOT = 1 << 8
} arch;

static arch arch_of(uint32_t capability)
{
    switch (capability) {
    case 75:
        return TURING;
    case 80:
        return A100;
    case 86:
        return AMPERE;
    case 120:
        return RTX_50;
    case 121:
        return SPARK;
    case 87:
        return MEASURED_NOT;
    default:
        break;
    }
    if (capability / 10 == 9)
        return HOPPER;
    if (capability / 10 == 10)
        return BLACKWELL;
    return capability / 10 == 11 ? MEASURED_NOT : OTHERS;
}

/* What is true of a weight of N outputs and K inputs, in B blocks, on S multiprocessors. */
enum {
    ANY = 0,
    B_3S = 1 << 0,        /* B >= 3 S */
    B_2S = 1 << 1,        /* B >= 2 S */
    B_S = 1 << 2,         /* B >= S */
    B_4S_5 = 1 << 3,      /* B >= 4/5 S */
    B_HALF = 1 << 4,      /* B >= S / 2, rounded down */
    BELOW_HALF = 1 << 5,  /* B < S / 2 */
    UP_TO_HALF = 1 << 6,  /* B <= S / 2 */
    B_THIRD = 1 << 7,     /* B >= S / 3 */
    BELOW_THIRD = 1 << 8, /* B < S / 3 */
    BELOW_60 = 1 << 9,    /* B < 3/5 S */
    BELOW_75 = 1 << 10,   /* B < 3/4 S */
    ABOVE_QUARTER = 1 << 11,
    UP_TO_QUARTER = 1 << 12,
    UP_TO_EIGHTH = 1 << 13,
    BELOW_S = 1 << 14,
    LONG = 1 << 15,       /* K >= N */
    WIDE = 1 << 16,       /* K < N */
    SQUARE = 1 << 17,     /* K == N */
    TALL = 1 << 18,       /* K > N */
    NOT_TALL = 1 << 19,   /* K <= N */
    TALL_2 = 1 << 20,     /* K > 2 N */
    TALL_3 = 1 << 21,     /* K >= 3 N */
    K_HALF = 1 << 22,     /* K >= N / 2 */
    FROM_48 = 1 << 23,    /* B >= 48 */
    BELOW_48 = 1 << 24,   /* B < 48 */
    UP_TO_48 = 1 << 25,   /* B <= 48 */
    FROM_64 = 1 << 26,    /* B >= 64 */
    FROM_65 = 1 << 27,    /* B > 64 */
    FROM_128 = 1 << 28,   /* B >= 128 */
    FROM_200 = 1 << 29,   /* B >= 200 */
    MANY_UNITS = 1 << 30, /* S >= 60 */
};

typedef enum regime {
    SHORT_SUM = 1, /* a small weight, K < N / 2 */
    SMALL = 2,     /* any other small one */
    LARGE = 4
} regime;

typedef struct tier {
    unsigned archs, regimes, holds;
    uint32_t most_rows;
} tier;

/* The first that holds counts; where none does, nothing is fused. */
static const tier tiers[] = {
    {BLACKWELL, SHORT_SUM | SMALL | LARGE, B_3S, 32},
    {BLACKWELL, SHORT_SUM | SMALL | LARGE, B_S | WIDE, 8},

    {A100, SHORT_SUM, BELOW_THIRD, 1536},
    {A100, SHORT_SUM, ANY, 512},
    {HOPPER, SHORT_SUM, BELOW_THIRD, 512},
    {HOPPER, SHORT_SUM, ANY, 320},
    {A100, SMALL, UP_TO_EIGHTH | LONG, 32},
    {A100, SMALL, UP_TO_QUARTER | LONG, 128},
    {A100, SMALL, UP_TO_QUARTER, 384},
    {TURING, SMALL, BELOW_S, 64},
    {HOPPER, SMALL, UP_TO_QUARTER, 32},
    {AMPERE | OTHERS | RTX_50 | SPARK, SMALL, UP_TO_QUARTER | WIDE, 32},
    {AMPERE | OTHERS | RTX_50 | SPARK, SMALL, UP_TO_QUARTER, 23},
    {A100 | HOPPER | AMPERE | OTHERS | RTX_50 | SPARK, SMALL, UP_TO_HALF, 16},

    {TURING, LARGE, B_3S | WIDE, 128},
    {TURING, LARGE, B_HALF, 64},
    {TURING, LARGE, ANY, 32},
    {A100, LARGE, B_3S, 128},
    {A100, LARGE, B_S | WIDE, 64},
    {A100, LARGE, B_S, 32},
    {A100, LARGE, TALL_3 | ABOVE_QUARTER, 0},
    {A100, LARGE, SQUARE | FROM_48 | BELOW_60, 0},
    {A100, LARGE, BELOW_HALF | NOT_TALL, 128},
    {A100, LARGE, BELOW_HALF | B_THIRD, 0},
    {A100, LARGE, B_HALF | WIDE, 128},
    {A100, LARGE, ANY, 16},
    {AMPERE, LARGE, B_S, 128},
    {AMPERE, LARGE, B_HALF, 64},
    {AMPERE, LARGE, ANY, 16},
    {HOPPER, LARGE, B_3S, 64},
    {HOPPER, LARGE, B_2S, 48},
    {HOPPER, LARGE, B_S, 32},
    {HOPPER, LARGE, B_HALF | LONG | BELOW_75, 0},
    {HOPPER, LARGE, B_HALF, 16},
    {SPARK, LARGE, B_S, 256},
    {RTX_50, LARGE, B_3S, 256},
    {RTX_50, LARGE, B_2S, 128},
    {RTX_50, LARGE, B_4S_5 | LONG, 96},
    {RTX_50, LARGE, B_4S_5, 64},
    {RTX_50, LARGE, B_HALF | K_HALF | FROM_128, 64},
    {RTX_50, LARGE, B_HALF, 8},
    {RTX_50, LARGE, TALL_2 | FROM_65, 16},
    {RTX_50, LARGE, ANY, 8},
    {OTHERS | SPARK, LARGE, B_3S, 256},
    {OTHERS | SPARK, LARGE, B_2S, 128},
    {OTHERS | SPARK, LARGE, B_4S_5 | TALL_2, 128},
    {OTHERS | SPARK, LARGE, B_4S_5 | FROM_200, 128},
    {OTHERS | SPARK, LARGE, B_4S_5 | LONG | MANY_UNITS, 128},
    {OTHERS | SPARK, LARGE, B_4S_5 | LONG, 32},
    {OTHERS | SPARK, LARGE, B_4S_5, 64},
    {OTHERS | SPARK, LARGE, B_HALF | TALL_2, 64},
    {OTHERS | SPARK, LARGE, B_HALF | FROM_64, 8},
    {OTHERS | SPARK, LARGE, B_HALF, 32},
    {OTHERS | SPARK, LARGE, UP_TO_48 | TALL_3, 12},
    {OTHERS | SPARK, LARGE, UP_TO_48 | TALL, 10},
    {OTHERS | SPARK, LARGE, TALL_2, 16},
    {OTHERS | SPARK, LARGE, BELOW_48, 16},
    {OTHERS | SPARK, LARGE, ANY, 8},
};

static unsigned facts_of(uint64_t n, uint64_t k, uint64_t b, uint64_t s)
{
    const struct {
        bool holds;
        unsigned fact;
    } rows[] = {
        {b >= 3 * s, B_3S},
        {b >= 2 * s, B_2S},
        {b >= s, B_S},
        {5 * b >= 4 * s, B_4S_5},
        {b >= s / 2, B_HALF},
        {2 * b < s, BELOW_HALF},
        {2 * b <= s, UP_TO_HALF},
        {3 * b >= s, B_THIRD},
        {3 * b < s, BELOW_THIRD},
        {5 * b < 3 * s, BELOW_60},
        {4 * b < 3 * s, BELOW_75},
        {4 * b > s, ABOVE_QUARTER},
        {4 * b <= s, UP_TO_QUARTER},
        {8 * b <= s, UP_TO_EIGHTH},
        {b < s, BELOW_S},
        {k >= n, LONG},
        {k < n, WIDE},
        {k == n, SQUARE},
        {k > n, TALL},
        {k <= n, NOT_TALL},
        {k > 2 * n, TALL_2},
        {k >= 3 * n, TALL_3},
        {2 * k >= n, K_HALF},
        {b >= 48, FROM_48},
        {b < 48, BELOW_48},
        {b <= 48, UP_TO_48},
        {b >= 64, FROM_64},
        {b > 64, FROM_65},
        {b >= 128, FROM_128},
        {b >= 200, FROM_200},
        {s >= 60, MANY_UNITS},
    };
    unsigned facts = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        facts |= rows[i].holds ? rows[i].fact : 0;
    return facts;
}

/* Short sums on the devices that go by more than the table's facts. */
static uint64_t most_rows_of_short(arch a, uint64_t k, uint64_t b, uint64_t s)
{
    if (a == TURING)
        return b >= 3 * s || k < 704 ? 320 : k >= 1024 ? 64 : 96;
    return b < s && b * k > s * 320 ? 192 : 320;
}

static bool few_rows_are_fused(arch a, uint64_t rows, uint64_t b, unsigned facts)
{
    if (rows < 6 || (a != A100 && a != HOPPER) || b < (a == HOPPER ? 36 : 48))
        return true;
    if ((facts & TALL) && (facts & BELOW_75))
        return false;
    if (!(facts & SQUARE))
        return true;
    return a == A100 ? !(facts & BELOW_60) : !(facts & BELOW_75) || (facts & BELOW_60);
}

static uint64_t most_rows(arch a, regime r, unsigned facts)
{
    for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++)
        if ((tiers[i].archs & a) && (tiers[i].regimes & r) &&
            (tiers[i].holds & facts) == tiers[i].holds)
            return tiers[i].most_rows;
    return 0;
}

static bool has_tensor_cores(uint32_t capability, ms_dtype dtype)
{
    return dtype != MS_DTYPE_F32 &&
           (capability >= 80 || (capability == 75 && dtype == MS_DTYPE_F16));
}

bool ms_is_fused_4bit(const ms_device *device, ms_dtype dtype, uint64_t rows, uint64_t out,
                      uint64_t in)
{
    enum { A100_MULTIPROCESSORS = 108 };
    uint64_t s = device->multiprocessors ? device->multiprocessors : A100_MULTIPROCESSORS;
    uint64_t b = (out + BLOCK_OUTPUTS - 1) / BLOCK_OUTPUTS;
    uint32_t capability = device->compute_capability;
    if (device->is_cpu || capability == 0 || rows > MOST_ROWS || in % SCALE_BLOCK != 0)
        return false;
    if (rows <= ALWAYS_ROWS)
        return true;
    if (!has_tensor_cores(capability, dtype))
        return rows <= VECTOR_ROWS;
    arch a = arch_of(capability);
    bool is_small = in < SMALL_WEIGHT / out + (SMALL_WEIGHT % out != 0);
    regime r = !is_small ? LARGE : in < out - in && in < out ? SHORT_SUM : SMALL;
    unsigned facts = facts_of(out, in, b, s);
    bool goes_by_table = (a & (A100 | HOPPER | BLACKWELL | MEASURED_NOT)) != 0;
    if (r == SHORT_SUM && !goes_by_table)
        return rows <= most_rows_of_short(a, in, b, s);
    if (a == TURING && r == SMALL && rows <= 8)
        return (facts & UP_TO_HALF) != 0;
    if (r == LARGE && rows > MOST_ROWS_OF_LARGE)
        return false;
    if (r == LARGE && rows <= VECTOR_ROWS && (a & (BLACKWELL | MEASURED_NOT)) == 0)
        return few_rows_are_fused(a, rows, b, facts);
    return rows <= most_rows(a, r, facts);
}

/* ---- int8 ---- */

/* Products with weights in 8 bits (bitsandbytes 0.50, autograd/_functions.py: MatMul8bitLt, and its
 * kernels for CUDA). The rows of the input are quantised too; the product is of integers. Columns
 * with outliers, which are multiplied separately, are assumed to be absent, because their number
 * depends on values. Weights whose row length is no multiple of 4 use another code path, which is
 * not modelled. */

enum { INT8_OUT, INT8_OUT_SYMBOL, INT8_NUMBERS }; /* of a node */

/* The weight is made whole in the type of the input, and no product is in place of another: the
 * gradient is a view. */
static void int8_matmul_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                 ms_tensor *out)
{
    const ms_meta *meta = ms_input_meta(tape, node, 0);
    const ms_shape shape = meta->shape;
    ms_dtype dtype = (ms_dtype)meta->dtype;
    ms_dim rows = {node->numbers[INT8_OUT], (uint32_t)node->numbers[INT8_OUT_SYMBOL]};
    ms_tensor weight = ms_empty(tape, MS_SHAPE(rows, shape.dims[shape.rank - 1]), dtype);
    ms_consume(tape, ms_empty(tape, MS_SHAPE(rows), MS_DTYPE_F32));
    ms_tensor grad = ms_to(tape, grads[0], dtype);
    out[0] = ms_empty(tape, shape, dtype);
    if (out[0])
        ms_info(tape, out[0])->is_view = true;
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    ms_op_product(tape, ms_op_running(tape),
                  ms_rows_times(&ms_info(tape, grads[0])->shape, shape.dims[shape.rank - 1].value));
    ms_op_work(tape, ms_op_running(tape), 2.0 * (double)ms_elements(&shape) * (double)rows.value, 0,
               dtype);
    ms_consume(tape, grad);
    ms_consume(tape, weight);
}

static const ms_op int8_matmul_op = {"matmul_8bit", "MatMul8bitLtBackward", int8_matmul_backward};

/* outliers.any(), and what zeroing no columns of several rows copies to the device */
static void look_for_outliers(ms_tape *tape, uint64_t count, bool has_rows)
{
    ms_tensor found = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_BOOL);
    ms_reduce_buffers buffers = ms_cuda_reduce_buffers(tape->options.device, 1, count, true);
    if (buffers.partial_bytes) { /* of one byte each where a sum's have four */
        ms_tensor partial = ms_empty_bytes(tape, buffers.partial_bytes / 4, MS_DTYPE_U8);
        ms_transient(tape, buffers.semaphore_bytes, MS_DTYPE_I32);
        ms_consume(tape, partial);
    }
    ms_consume(tape, found);
    if (has_rows)
        ms_transient(tape, 1, MS_DTYPE_U8);
}

/* Yields the rows in 8 bits, and their scales in `scales`. */
static ms_tensor quantize_rows(ms_tape *tape, ms_tensor x, ms_tensor *scales)
{
    ms_shape shape = ms_info(tape, x)->shape;
    bool is_half = ms_info(tape, x)->dtype == MS_DTYPE_F16;
    uint64_t count = ms_elements(&shape), width = shape.dims[shape.rank - 1].value;
    ms_tensor half = is_half ? 0 : ms_empty(tape, shape, MS_DTYPE_F16);
    *scales =
        ms_empty(tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, count / width)), MS_DTYPE_F32);
    ms_tensor rows = ms_empty(tape, shape, MS_DTYPE_U8);
    ms_tensor absolute = ms_empty(tape, shape, MS_DTYPE_F16);
    ms_tensor outliers = ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_consume(tape, absolute);
    look_for_outliers(tape, count, count > width);
    ms_consume(tape, outliers);
    ms_consume(tape, half);
    return rows;
}

/* The product in integers, then in fp16, then in the type that came in. */
static ms_tensor product(ms_tape *tape, ms_shape shape, ms_dtype dtype)
{
    ms_tensor integers = ms_empty(tape, shape, MS_DTYPE_I32);
    ms_tensor half = ms_empty(tape, shape, MS_DTYPE_F16);
    ms_tensor out = dtype == MS_DTYPE_F16 ? half : ms_empty(tape, shape, dtype);
    if (out != half)
        ms_consume(tape, half);
    ms_consume(tape, integers);
    return out;
}

ms_tensor ms_matmul_8bit(ms_tape *tape, ms_tensor x, ms_dim columns)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &int8_matmul_op);
    uint32_t node = ms_record(tape, &int8_matmul_op, 1, &x);
    ms_node_numbers(tape, node, INT8_NUMBERS, (uint64_t[]){columns.value, columns.symbol});
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_shape shape = ms_info(tape, x)->shape;
    double flops = 2.0 * (double)ms_elements(&shape) * (double)columns.value;
    ms_op_product(tape, mark, ms_rows_times(&shape, columns.value));
    ms_tensor scales, rows = quantize_rows(tape, x, &scales);
    shape.dims[shape.rank - 1] = columns;
    ms_tensor out = product(tape, shape, dtype);
    ms_consume(tape, rows);
    ms_consume(tape, scales);
    ms_op_work(tape, mark, flops, 0, MS_DTYPE_F16);
    if (node != MS_NONE)
        ms_graph_hold_activation(tape, x); /* an attribute of the node's context */
    return ms_op_finish(tape, mark, node, 1, &x, out);
}

/* ---- dequantize ---- */

enum { OUT, OUT_SYMBOL, IN, IN_SYMBOL, SCALES, IS_DOUBLE, DTYPE, NUMBERS }; /* of a node */

static const ms_op dequantize_op = {.name = "dequantize_4bit"};

/* The weight, and the scales that were made for it. Forward adds the offset to a copy of the scales
 * and keeps both until the product is made; backward adds in place. */
static ms_tensor dequantize(ms_tape *tape, const ms_packed_weight *w, ms_dtype dtype,
                            ms_tensor scales[2])
{
    ms_op_mark mark = ms_op_begin(tape, &dequantize_op);
    ms_shape shape = MS_SHAPE(ms_dim_number(&tape->trace->symbols, w->scales));
    scales[0] = w->is_double ? ms_empty(tape, shape, MS_DTYPE_F32) : 0;
    scales[1] = w->is_double && !tape->in_backward ? ms_empty(tape, shape, MS_DTYPE_F32) : 0;
    ms_tensor weight = ms_empty(tape, MS_SHAPE(w->out, w->in), dtype);
    ms_op_operand(tape, mark, weight, true);
    ms_op_end(tape, mark);
    return weight;
}

static void drop(ms_tape *tape, const ms_tensor scales[2])
{
    if (scales[1])
        ms_consume(tape, scales[1]);
    if (scales[0])
        ms_consume(tape, scales[0]);
}

static void matmul_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const uint64_t *n = node->numbers;
    const ms_packed_weight w = {.out = {n[OUT], (uint32_t)n[OUT_SYMBOL]},
                                .in = {n[IN], (uint32_t)n[IN_SYMBOL]},
                                .scales = n[SCALES],
                                .is_double = n[IS_DOUBLE]};
    const ms_shape shape = ms_input_meta(tape, node, 0)->shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor scales[2], weight = dequantize(tape, &w, (ms_dtype)n[DTYPE], scales);
    drop(tape, scales);
    weight = ms_to(tape, weight, dtype);
    out[0] = ms_empty(tape, shape, dtype);
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    ms_op_product(tape, ms_op_running(tape),
                  ms_rows_times(&ms_info(tape, grads[0])->shape, w.in.value));
    ms_op_work(tape, ms_op_running(tape), 2.0 * (double)ms_elements(&shape) * (double)w.out.value,
               0, dtype);
    ms_consume(tape, weight);
}

static const ms_op matmul_op = {"matmul_4bit", "MatMul4BitBackward", matmul_backward};

/* F.linear on what was dequantised: autocast takes weight and rows to its own type, if bitsandbytes
 * computes in another. */
static ms_dtype product_dtype(const ms_tape *tape, ms_dtype dtype, bool is_fused)
{
    return tape->has_autocast && !is_fused ? (ms_dtype)tape->autocast_dtype : dtype;
}

static ms_tensor lowered(ms_tape *tape, ms_tensor tensor, ms_dtype from, ms_dtype to)
{
    return tensor && from != to ? ms_empty(tape, ms_info(tape, tensor)->shape, to) : 0;
}

ms_tensor ms_matmul_4bit(ms_tape *tape, ms_tensor x, const ms_packed_weight *w, bool has_bias)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &matmul_op);
    uint32_t node = ms_record(tape, &matmul_op, 1, &x);
    ms_node_numbers(tape, node, NUMBERS,
                    (uint64_t[]){w->out.value, w->out.symbol, w->in.value, w->in.symbol, w->scales,
                                 w->is_double, w->dtype});
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_shape shape = ms_info(tape, x)->shape;
    ms_op_product(tape, mark, ms_rows_times(&shape, w->out.value));
    uint64_t elements = ms_elements(&shape), in = shape.dims[shape.rank - 1].value;
    bool is_fused = ms_is_fused_4bit(tape->options.device, dtype, elements / in, w->out.value, in);
    ms_tensor scales[2] = {0}, weight = is_fused ? 0 : dequantize(tape, w, dtype, scales);
    shape.dims[shape.rank - 1] = w->out;
    ms_dtype made = product_dtype(tape, dtype, is_fused);
    ms_tensor low_weight = lowered(tape, weight, dtype, made),
              low_x = lowered(tape, x, dtype, made);
    ms_tensor out = ms_empty(tape, shape, made);
    bool is_biased = has_bias && !tape->has_own_linear; /* DeepSpeed's adds it in place */
    if (!is_fused)
        ms_workspace_use(tape, is_biased ? MS_PRODUCT_BIASED : MS_PRODUCT_PLAIN);
    ms_op_work(tape, mark, 2.0 * (double)elements * (double)w->out.value, 0, made);
    if (low_x)
        ms_consume(tape, low_x);
    if (low_weight)
        ms_consume(tape, low_weight);
    drop(tape, scales);
    ms_consume(tape, weight);
    return ms_op_finish(tape, mark, node, 1, &x, out);
}
