/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two Adafactors: torch.optim.Adafactor, and that of transformers as created by its Trainer
 * (scale_parameter=False, relative_step=False). A matrix keeps a row and a column instead of a
 * second moment.
 */
#include "torch/ops/ops.h"
#include "run/step/optimizers/optimizer_row.h"

static const ms_shape scalar = {.rank = 0};

static bool is_factored(ms_tape *tape, const ms_parameter *parameter)
{
    return ms_info(tape, parameter->tensor)->shape.rank > 1;
}

/* [M, N] without its last dimension, and without the one before. */
static ms_shape row_shape(ms_shape shape)
{
    shape.rank--;
    return shape;
}

static ms_shape column_shape(ms_shape shape)
{
    shape.dims[shape.rank - 2] = shape.dims[shape.rank - 1];
    shape.rank--;
    return shape;
}

static void make_factors(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter,
                         ms_dtype dtype)
{
    ms_shape shape = ms_info(tape, parameter->tensor)->shape;
    if (!is_factored(tape, parameter)) {
        parameter->states[0] = ms_optimizer_state(tape, shape, dtype, "variance");
        return;
    }
    parameter->states[0] = ms_optimizer_state(tape, row_shape(shape), dtype, row->states[0]);
    parameter->states[1] = ms_optimizer_state(tape, column_shape(shape), dtype, row->states[1]);
}

static ms_tensor like(ms_tape *tape, ms_tensor tensor)
{
    return ms_empty_like(tape, tensor, (ms_dtype)ms_info(tape, tensor)->dtype);
}

/* ---- torch.optim.Adafactor ---- */

void ms_make_factors(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter)
{
    make_factors(tape, row, parameter, (ms_dtype)ms_info(tape, parameter->tensor)->dtype);
}

/* A norm that is read at once. */
static void read_norm(ms_tape *tape, ms_tensor tensor)
{
    ms_consume(tape, ms_reduce_all(tape, tensor));
}

/* row_var @ col_var */
static ms_tensor estimate(ms_tape *tape, const ms_parameter *parameter)
{
    ms_tensor product = like(tape, parameter->grad);
    ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    return product;
}

typedef struct torch_locals {
    ms_tensor *row_mean, *column_mean, *squared, *update;
} torch_locals;

static void update_matrix(ms_locals *f, const torch_locals *l, const ms_parameter *parameter)
{
    ms_tape *tape = f->tape;
    ms_assign(f, l->row_mean, ms_reduce_rows(tape, parameter->grad));
    ms_assign(f, l->column_mean, ms_reduce_columns(tape, parameter->grad));
    ms_tensor product = estimate(tape, parameter);
    ms_consume(tape, ms_reduce_rows(tape, parameter->states[0]));
    ms_assign(f, l->update, product);
}

static void update_vector(ms_locals *f, const torch_locals *l, const ms_parameter *parameter)
{
    ms_assign(f, l->squared, like(f->tape, parameter->grad));
    ms_assign(f, l->update, like(f->tape, parameter->states[0]));
}

void ms_adafactor_loop(ms_tape *tape, const ms_stepped *stepped)
{
    ms_locals f = ms_locals_begin(tape);
    torch_locals l;
    l.row_mean = ms_local(&f, 0);
    l.column_mean = ms_local(&f, 0);
    l.update = ms_local(&f, 0);
    l.squared = ms_local(&f, 0);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        const ms_parameter parameter = *ms_stepped_at(tape, stepped, i);
        read_norm(tape, parameter.tensor);
        if (is_factored(tape, &parameter))
            update_matrix(&f, &l, &parameter);
        else
            update_vector(&f, &l, &parameter);
        read_norm(tape, *l.update);
    }
    ms_locals_end(&f, NULL);
}

static void mean_lists(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list means = {0};
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++)
        ms_list_push(tape, &means, ms_reduce_rows(tape, ms_stepped_at(tape, stepped, i)->grad));
    ms_list_drop(tape, &means);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++)
        ms_list_push(tape, &means, ms_reduce_columns(tape, ms_stepped_at(tape, stepped, i)->grad));
    ms_list_drop(tape, &means);
}

static ms_tensor_list estimates(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list products = {0}, means = {0};
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++)
        ms_list_push(tape, &products, estimate(tape, ms_stepped_at(tape, stepped, i)));
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++)
        ms_list_push(tape, &means, ms_reduce_all(tape, ms_stepped_at(tape, stepped, i)->states[0]));
    ms_list_drop(tape, &means);
    return products;
}

/* All matrices, or all vectors. `updates` are those of the group before until the new ones are
 * there. */
static void update_group(ms_tape *tape, const ms_stepped *group, bool matrices,
                         ms_tensor_list *updates)
{
    if (!group->count)
        return;
    ms_tensor_list fresh;
    for (uint32_t i = 0; i < group->count && tape->status == MS_OK; i++)
        read_norm(tape, ms_stepped_at(tape, group, i)->tensor);
    if (matrices) {
        mean_lists(tape, group);
        fresh = estimates(tape, group);
    } else {
        ms_tensor_list squared = ms_list_like(tape, group, MS_LIST_OF_GRADIENTS);
        ms_list_drop(tape, &squared);
        fresh = ms_list_like(tape, group, 0);
    }
    ms_list_drop(tape, updates);
    *updates = fresh;
    for (uint32_t i = 0; i < updates->count && tape->status == MS_OK; i++)
        read_norm(tape, updates->items[i]);
}

/* Matrices and vectors are stepped apart, the kind of the first parameter first. */
void ms_adafactor_foreach(ms_tape *tape, const ms_stepped *stepped)
{
    ms_vec(uint32_t) group = {0};
    ms_tensor_list updates = {0};
    bool matrices = stepped->count && is_factored(tape, ms_stepped_at(tape, stepped, 0));
    for (int pass = 0; pass < 2; pass++, matrices = !matrices) {
        group.count = 0;
        for (uint32_t i = 0; i < stepped->count; i++)
            if (is_factored(tape, ms_stepped_at(tape, stepped, i)) == matrices &&
                !ms_vec_push(&group, stepped->items[i]))
                ms_tape_fail(tape, MS_ERR_NOMEM);
        update_group(tape, &(ms_stepped){stepped->row, group.items, group.count}, matrices,
                     &updates);
    }
    ms_list_drop(tape, &updates);
    ms_vec_free(&group);
}

/* ---- transformers.optimization.Adafactor: all in fp32 ---- */

/* The root mean square of each parameter is a state too. */
enum { STATE_RMS = 2 };

void ms_make_trainer_factors(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter)
{
    make_factors(tape, row, parameter, MS_DTYPE_F32);
}

static bool is_half(ms_tape *tape, ms_tensor tensor)
{
    return ms_info(tape, tensor)->dtype != MS_DTYPE_F32;
}

/* tensor.norm(2) / numel ** 0.5 */
static ms_tensor root_mean_square(ms_tape *tape, ms_tensor tensor)
{
    ms_tensor norm = ms_reduce_all(tape, tensor);
    ms_tensor mean = ms_empty(tape, scalar, MS_DTYPE_F32);
    ms_consume(tape, norm);
    return mean;
}

static void keep_root_mean_square(ms_tape *tape, ms_parameter *parameter, ms_tensor tensor)
{
    tape->new_category = MS_CATEGORY_OPTIMIZER_STATE;
    ms_tensor mean = root_mean_square(tape, tensor);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    ms_retain(tape, mean);
    ms_name_storage(tape, mean, "RMS", MS_CATEGORY_OPTIMIZER_STATE);
    ms_release(tape, parameter->states[STATE_RMS]);
    parameter->states[STATE_RMS] = mean;
}

/* The second moment that row and column stand for: r.rsqrt() times c.rsqrt(). */
static ms_tensor approximate(ms_tape *tape, const ms_parameter *parameter, ms_tensor grad)
{
    ms_tensor mean = ms_reduce_rows(tape, parameter->states[0]);
    ms_tensor row = like(tape, parameter->states[0]);
    ms_consume(tape, mean);
    ms_tensor column = like(tape, parameter->states[1]);
    ms_tensor product = ms_empty_like(tape, grad, MS_DTYPE_F32);
    ms_consume(tape, row);
    ms_consume(tape, column);
    return product;
}

static void assign_update(ms_locals *f, ms_tensor *update, const ms_parameter *parameter,
                          ms_tensor grad)
{
    ms_tape *tape = f->tape;
    ms_tensor squared = ms_empty_like(tape, grad, MS_DTYPE_F32);
    ms_tensor sum = ms_empty_like(tape, grad, MS_DTYPE_F32);
    ms_consume(tape, squared);
    ms_assign(f, update, sum);
    if (!is_factored(tape, parameter)) {
        ms_assign(f, update, like(tape, parameter->states[0]));
        return;
    }
    ms_consume(tape, ms_reduce_rows(tape, *update));
    ms_consume(tape, ms_reduce_columns(tape, *update));
    ms_assign(f, update, approximate(tape, parameter, grad));
}

/* update.div_((rms(update) / threshold).clamp_(min=1.0)), then p.add_(-update) */
static void apply_update(ms_tape *tape, ms_tensor update)
{
    ms_tensor mean = root_mean_square(tape, update);
    ms_tensor ratio = ms_empty(tape, scalar, MS_DTYPE_F32);
    ms_consume(tape, mean);
    ms_consume(tape, ratio);
    ms_consume(tape, like(tape, update));
}

void ms_trainer_adafactor(ms_tape *tape, const ms_stepped *stepped)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *grad = ms_local(&f, 0), *weight = ms_local(&f, 0), *update = ms_local(&f, 0);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        ms_parameter *parameter = ms_stepped_at(tape, stepped, i);
        ms_assign(&f, grad, parameter->grad);
        if (is_half(tape, parameter->grad))
            ms_assign(&f, grad, ms_empty_like(tape, parameter->grad, MS_DTYPE_F32));
        ms_optimizer_make_states(tape, stepped->row, parameter);
        ms_assign(&f, weight, parameter->tensor);
        if (is_half(tape, parameter->tensor))
            ms_assign(&f, weight, ms_empty_like(tape, parameter->tensor, MS_DTYPE_F32));
        keep_root_mean_square(tape, parameter, *weight);
        assign_update(&f, update, parameter, *grad);
        apply_update(tape, *update);
    }
    ms_locals_end(&f, NULL);
}
