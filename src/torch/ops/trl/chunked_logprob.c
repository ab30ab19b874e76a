/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/trl/chunked_logprob.h"

#include "torch/ops/moe/rows.h"

enum { TILE_TOKENS = 4096, TILE_VOCAB = 32768 };

static ms_dtype dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

static const ms_shape *shape_of(ms_tape *tape, ms_tensor a)
{
    return &ms_info(tape, a)->shape;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- tiles of the product of hidden states and the head's weight ---- */

/* Hidden states, weight and bias as operands of products in `compute`. */
typedef struct tiles {
    ms_tape *tape;
    ms_tensor hidden, weight, bias;
    ms_dtype compute;
    bool keeps_weight; /* the part of the weight has a name, and stays until the next one exists */
    /* What has a name when the tiles are done: 0 where it is a view. */
    ms_tensor hidden_part, weight_part, buffer;
} tiles;

static ms_dim number(ms_tape *tape, uint64_t value)
{
    return ms_dim_number(&tape->trace->symbols, value);
}

/* So many rows of it in the type of the products; 0: they are a view. */
static ms_tensor cast_rows(const tiles *t, ms_tensor of, uint64_t rows)
{
    ms_shape shape = *shape_of(t->tape, of);
    if (dtype_of(t->tape, of) == t->compute)
        return 0;
    shape.dims[0] = number(t->tape, rows);
    return ms_empty(t->tape, shape, t->compute);
}

static void run_row(tiles *t)
{
    const uint64_t vocab = shape_of(t->tape, t->weight)->dims[0].value;
    for (uint64_t first = 0; first < vocab && !ms_idle(t->tape); first += TILE_VOCAB) {
        const uint64_t width = least(TILE_VOCAB, vocab - first);
        ms_tensor part = cast_rows(t, t->weight, width);
        ms_workspace_use(t->tape, MS_PRODUCT_PLAIN);
        ms_consume(t->tape, t->keeps_weight ? t->weight_part : part);
        t->weight_part = t->keeps_weight ? part : 0;
        if (t->bias)
            ms_consume(t->tape, cast_rows(t, t->bias, width));
    }
}

static void run_tiles(tiles *t)
{
    ms_tape *tape = t->tape;
    const uint64_t tokens = shape_of(tape, t->hidden)->dims[0].value;
    t->buffer =
        ms_empty(tape, MS_SHAPE(number(tape, least(tokens, TILE_TOKENS)), number(tape, TILE_VOCAB)),
                 t->compute);
    for (uint64_t first = 0; first < tokens && !ms_idle(tape); first += TILE_TOKENS) {
        ms_tensor part = cast_rows(t, t->hidden, least(TILE_TOKENS, tokens - first));
        ms_consume(tape, t->hidden_part);
        t->hidden_part = part;
        run_row(t);
    }
}

static void drop_tiles(const tiles *t)
{
    ms_consume(t->tape, t->hidden_part);
    ms_consume(t->tape, t->weight_part);
    ms_consume(t->tape, t->buffer);
}

/* ---- log-probabilities ---- */

enum { HIDDEN, WEIGHT, BIAS, INPUTS };
enum { COMPUTE, HAS_BIAS, NUMBERS };

/* In fp32, whatever the input has. */
static ms_tensor wide_gradient(ms_tape *tape, const ms_node *node, uint32_t input)
{
    return ms_node_wants(node, input)
               ? ms_empty(tape, ms_input_meta(tape, node, input)->shape, MS_DTYPE_F32)
               : 0;
}

static ms_tensor narrowed(ms_tape *tape, ms_tensor wide, ms_dtype dtype)
{
    return !wide || dtype == MS_DTYPE_F32 ? wide : ms_empty_like(tape, wide, dtype);
}

static void log_probs_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)grads;
    const bool has_bias = node->numbers[HAS_BIAS] != 0;
    tiles t = {.tape = tape,
               .hidden = node->saved[HIDDEN],
               .weight = node->saved[WEIGHT],
               .bias = has_bias ? node->saved[BIAS] : 0,
               .compute = (ms_dtype)node->numbers[COMPUTE],
               .keeps_weight = true};
    const uint32_t count = has_bias ? INPUTS : BIAS;
    ms_tensor wide[INPUTS] = {0};
    for (uint32_t i = 0; i < count; i++)
        wide[i] = wide_gradient(tape, node, i);
    if (ms_idle(tape))
        return;
    run_tiles(&t);
    for (uint32_t i = 0; i < count && !ms_idle(tape); i++)
        out[i] = narrowed(tape, wide[i], dtype_of(tape, node->saved[i]));
    for (uint32_t i = 0; i < count && !ms_idle(tape); i++)
        if (out[i] != wide[i])
            ms_consume(tape, wide[i]);
    drop_tiles(&t);
}

static const ms_op log_probs_op = {"chunked_log_probs", "_ChunkedLogProbFunctionBackward",
                                   log_probs_backward};

/* What is known of each token while the tiles run: extremes, sums, the label's own logit. */
enum { RUNNING = 7 };

typedef struct results {
    ms_tensor log_z;
    ms_log_probs out;
} results;

/* From what the tiles left, in PyTorch's order. */
static results conclude(ms_tape *tape, ms_dim tokens)
{
    results r = {0};
    const ms_shape shape = MS_SHAPE(tokens);
    ms_tensor sums = ms_empty(tape, shape, MS_DTYPE_F32);
    r.log_z = ms_empty(tape, shape, MS_DTYPE_F32);
    ms_consume(tape, sums);
    r.out.log_probs = ms_empty(tape, shape, MS_DTYPE_F32);
    ms_tensor quotient = ms_empty(tape, shape, MS_DTYPE_F32);
    r.out.entropy = ms_empty(tape, shape, MS_DTYPE_F32);
    ms_consume(tape, quotient);
    ms_tensor is_most = ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_tensor is_first = ms_empty(tape, shape, MS_DTYPE_BOOL);
    r.out.is_top = ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_consume(tape, is_most);
    ms_consume(tape, is_first);
    return r;
}

static results run_forward(tiles *t, ms_dim tokens)
{
    ms_tensor running[RUNNING];
    for (uint32_t i = 0; i < RUNNING; i++)
        running[i] = ms_empty(t->tape, MS_SHAPE(tokens), MS_DTYPE_F32);
    run_tiles(t);
    const results r = conclude(t->tape, tokens);
    for (uint32_t i = 0; i < RUNNING; i++)
        ms_consume(t->tape, running[i]);
    drop_tiles(t);
    return r;
}

ms_log_probs ms_chunked_log_probs(ms_tape *tape, ms_tensor hidden, ms_tensor weight, ms_tensor bias,
                                  ms_tensor targets)
{
    if (ms_idle(tape) || !hidden || !weight || !targets)
        return (ms_log_probs){0};
    ms_op_mark mark = ms_op_begin(tape, &log_probs_op);
    const ms_tensor inputs[] = {hidden, weight, bias};
    const uint32_t count = bias ? INPUTS : BIAS;
    const uint32_t node = ms_record(tape, &log_probs_op, count, inputs);
    tiles t = {.tape = tape,
               .hidden = hidden,
               .weight = weight,
               .bias = bias,
               .compute =
                   tape->has_autocast ? (ms_dtype)tape->autocast_dtype : dtype_of(tape, hidden)};
    const ms_dim tokens = shape_of(tape, hidden)->dims[0];
    const bool grad_enabled = tape->grad_enabled;
    tape->grad_enabled = false;
    results r = run_forward(&t, tokens);
    tape->grad_enabled = grad_enabled;
    ms_node_numbers(tape, node, NUMBERS, (uint64_t[]){t.compute, bias != 0});
    for (uint32_t i = 0; i < count; i++)
        ms_save(tape, node, inputs[i]);
    ms_save(tape, node, targets);
    ms_save(tape, node, r.log_z);
    ms_save(tape, node, r.out.entropy);
    ms_consume(tape, r.log_z);
    const double vocab = (double)shape_of(tape, weight)->dims[0].value;
    ms_op_work(tape, mark, 2 * (double)ms_elements(shape_of(tape, hidden)) * vocab, 0, t.compute);
    r.out.log_probs = ms_op_finish(tape, mark, node, count, inputs, r.out.log_probs);
    return r.out;
}

/* ---- a[mask] ---- */

static void select_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_shape whole = ms_input_meta(tape, node, 0)->shape;
    const ms_shape mask = *shape_of(tape, node->saved[0]);
    out[0] = ms_empty(tape, whole, dtype_of(tape, grads[0]));
    if (ms_idle(tape))
        return;
    const ms_shape rows = MS_SHAPE(shape_of(tape, grads[0])->dims[0]);
    ms_tensor indices = ms_nonzero(tape, &mask, true, rows.dims[0]);
    ms_tensor linear = ms_linear_index(tape, mask.rank, rows);
    ms_consume(tape, indices);
    ms_sort_linear(tape, &rows, ms_elements(&mask));
    ms_consume(tape, linear);
}

static const ms_op select_op = {"index", "IndexBackward0", select_backward};

ms_tensor ms_select_by_mask(ms_tape *tape, ms_tensor a, ms_tensor mask, ms_dim count)
{
    if (ms_idle(tape) || !a || !mask)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &select_op);
    const uint32_t node = ms_record(tape, &select_op, 1, &a);
    ms_save(tape, node, mask);
    const ms_shape from = *shape_of(tape, a), places = *shape_of(tape, mask);
    ms_shape shape = MS_SHAPE(count);
    for (uint32_t i = places.rank; i < from.rank; i++)
        shape.dims[shape.rank++] = from.dims[i];
    ms_tensor indices = ms_nonzero(tape, &places, true, count);
    ms_tensor out = ms_empty(tape, shape, dtype_of(tape, a));
    ms_consume(tape, indices);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}
