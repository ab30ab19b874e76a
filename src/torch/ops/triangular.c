/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Triangular systems of equations. The solution is stored by columns, as the libraries require.
 */
#include "torch/ops/ops.h"

enum { SYSTEM, RIGHT_SIDE };

/* Up to eight systems of 64 rows or more are solved one after the other; more need lists of where
 * both sides are. */
enum { FEW_SYSTEMS = 8, MANY_ROWS = 64, POINTER_BYTES = 8 };

static ms_tensor solved(ms_tape *tape, const ms_shape *shape, ms_dtype dtype)
{
    uint64_t strides[MS_MAX_RANK], stride = 1;
    uint32_t rank = shape->rank;
    for (uint32_t i = rank; i-- > 0;) {
        uint32_t d = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
        strides[d] = stride;
        stride *= shape->dims[d].value;
    }
    ms_tensor out = ms_empty_strided(tape, *shape, strides, dtype);
    uint64_t rows = shape->dims[rank - 2].value;
    uint64_t matrix = rows * shape->dims[rank - 1].value;
    uint64_t systems = matrix ? ms_elements(shape) / matrix : 0;
    if (tape->on_cpu || (systems <= FEW_SYSTEMS && rows >= MANY_ROWS))
        return out;
    ms_tensor where = ms_empty_bytes(tape, systems * POINTER_BYTES, MS_DTYPE_I64);
    ms_transient(tape, systems * POINTER_BYTES, MS_DTYPE_I64);
    ms_consume(tape, where);
    return out;
}

/* The right side's gradient solves the transposed system; the matrix's is a product with it,
 * negated, of which the lower triangle counts. */
static void solve_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    const ms_shape right = ms_input_meta(tape, node, RIGHT_SIDE)->shape;
    ms_tensor side = solved(tape, &right, dtype);
    if (ms_node_wants(node, SYSTEM)) {
        const ms_shape shape = ms_input_meta(tape, node, SYSTEM)->shape;
        ms_tensor product = ms_empty(tape, shape, dtype);
        ms_workspace_use(tape, MS_PRODUCT_PLAIN);
        ms_tensor negated = ms_empty(tape, shape, dtype);
        ms_consume(tape, product);
        out[SYSTEM] = ms_empty(tape, shape, dtype);
        ms_consume(tape, negated);
    }
    if (ms_node_wants(node, RIGHT_SIDE))
        out[RIGHT_SIDE] = side;
    else
        ms_consume(tape, side);
}

static const ms_op solve_op = {"linalg_solve_triangular", "LinalgSolveTriangularBackward0",
                               solve_backward};

ms_tensor ms_solve_triangular(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    if (ms_idle(tape) || !a || !b)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &solve_op);
    ms_tensor inputs[] = {a, b};
    uint32_t node = ms_record(tape, &solve_op, 2, inputs);
    ms_save(tape, node, a);
    const ms_shape shape = ms_info(tape, b)->shape;
    ms_tensor out = solved(tape, &shape, (ms_dtype)ms_info(tape, b)->dtype);
    ms_save(tape, node, out);
    double rows = (double)shape.dims[shape.rank - 2].value;
    ms_op_work(tape, mark, rows * (double)ms_elements(&shape), 0, MS_DTYPE_F32);
    return ms_op_finish(tape, mark, node, 2, inputs, out);
}

static const ms_op triu_op = {"triu", NULL, NULL};

ms_tensor ms_upper_mask(ms_tape *tape, ms_dim rows)
{
    ms_tensor ones = ms_empty(tape, MS_SHAPE(rows, rows), MS_DTYPE_BOOL);
    if (ms_idle(tape) || !ones)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &triu_op);
    ms_tensor out = ms_empty(tape, MS_SHAPE(rows, rows), MS_DTYPE_BOOL);
    return ms_op_finish(tape, mark, MS_NONE, 1, &ones, out);
}
