/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * torch.optim.Muon updates matrices of the layers; embeddings, the output head and parameters that
 * are not matrices use AdamW, as its documentation advises. Each update is orthogonalised by five
 * Newton-Schulz iterations in bf16, one matrix at a time.
 */
#include "torch/ops/ops.h"
#include "run/step/optimizers/optimizer_row.h"
#include "run/step/optimizers/reductions.h"

enum { NEWTON_SCHULZ_STEPS = 5 };

bool ms_muon_takes(ms_tape *tape, const ms_parameter *parameter)
{
    return ms_info(tape, parameter->tensor)->shape.rank == 2 &&
           tape->trace->scopes.items[parameter->scope].layer != MS_NONE;
}

static ms_tensor product(ms_tape *tape, ms_dim rows, ms_dim inner, ms_dim columns)
{
    ms_op_product(tape, ms_op_running(tape),
                  (ms_gemm){1, rows.value, inner.value, columns.value, false});
    ms_tensor out = ms_empty(tape, MS_SHAPE(rows, columns), MS_DTYPE_BF16);
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    return out;
}

/* X [s, l] with s <= l: A = X Xᵀ, B = b A + c A A, X = a X + B X. */
static void orthogonalize_steps(ms_locals *f, ms_tensor *ortho, ms_dim small, ms_dim large)
{
    ms_tape *tape = f->tape;
    ms_tensor *gram = ms_local(f, 0), *polynomial = ms_local(f, 0);
    for (int i = 0; i < NEWTON_SCHULZ_STEPS; i++) {
        ms_assign(f, gram, product(tape, small, large, small));
        ms_assign(f, polynomial, product(tape, small, small, small));
        ms_assign(f, ortho, product(tape, small, small, large));
    }
    double s = (double)small.value, l = (double)large.value;
    ms_op_work(tape, ms_op_running(tape), NEWTON_SCHULZ_STEPS * (4 * s * s * l + 2 * s * s * s), 0,
               MS_DTYPE_BF16);
}

static ms_tensor orthogonalize(ms_tape *tape, ms_tensor update)
{
    const ms_tensor_info info = *ms_info(tape, update);
    ms_dim rows = info.shape.dims[0], columns = info.shape.dims[1];
    bool is_tall = rows.value > columns.value;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *ortho = ms_local(&f, update);
    if (info.dtype != MS_DTYPE_BF16)
        ms_assign(&f, ortho, ms_empty_like(tape, update, MS_DTYPE_BF16));
    ms_tensor norm = ms_reduce_all(tape, *ortho);
    ms_tensor clamped = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_BF16);
    ms_consume(tape, norm);
    ms_consume(tape, clamped);
    orthogonalize_steps(&f, ortho, is_tall ? columns : rows, is_tall ? rows : columns);
    return ms_locals_end(&f, ortho);
}

void ms_muon_loop(ms_tape *tape, const ms_stepped *stepped)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *update = ms_local(&f, 0);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        ms_tensor grad = ms_stepped_at(tape, stepped, i)->grad;
        ms_assign(&f, update, ms_empty_like(tape, grad, (ms_dtype)ms_info(tape, grad)->dtype));
        ms_assign(&f, update, orthogonalize(tape, *update));
    }
    ms_locals_end(&f, NULL);
}
