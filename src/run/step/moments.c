/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch's optimizers whose states have the parameter's shape: Adam, SGD, RMSprop, Adagrad. Fused
 * kernels need no temporaries, foreach allocates whole lists, the loop handles one parameter at a
 * time.
 */
#include "run/step/optimizers/optimizer_row.h"
#include "run/step/run.h"
#include "torch/ops/ops.h"

/* ---- bitsandbytes ---- */

/* bitsandbytes' optimizers: one kernel per parameter, without temporaries. States are in fp32, or
 * in 8 bits with a scale per 256 numbers and one quantisation map; large states of paged optimizers
 * are in unified memory, which migrates to the device on use. */

enum { LEAST_ELEMENTS_IN_8_BITS = 4096, LEAST_PAGED_ELEMENTS = 100000, BLOCK_ELEMENTS = 256 };

enum { CODES = 256, STATE_SCALES = 2, STATE_MAPS = 4 };

static const char *const map_names[] = {"qmap1", "qmap2"};
static const char *const scale_names[] = {"absmax1", "absmax2"};

static uint64_t elements_of(ms_tape *tape, const ms_parameter *parameter)
{
    return ms_elements(&ms_info(tape, parameter->tensor)->shape);
}

static ms_dtype state_type(ms_tape *tape, const ms_optimizer_row *row,
                           const ms_parameter *parameter)
{
    bool in_8_bits = row->state_bits == 8 && !(row->spares_embeddings && parameter->is_embedding) &&
                     elements_of(tape, parameter) >= LEAST_ELEMENTS_IN_8_BITS;
    return in_8_bits ? MS_DTYPE_U8 : MS_DTYPE_F32;
}

static bool is_paged(ms_tape *tape, const ms_optimizer_row *row, const ms_parameter *parameter)
{
    return row->is_paged && elements_of(tape, parameter) >= LEAST_PAGED_ELEMENTS;
}

uint64_t ms_paged_bytes(ms_tape *tape, const ms_optimizer_row *row, const ms_parameter *parameter)
{
    if (!is_paged(tape, row, parameter))
        return 0;
    return elements_of(tape, parameter) * ms_dtype_bytes(state_type(tape, row, parameter)) *
           ms_optimizer_state_count(row);
}

/* The maps of codes to numbers go to the device before the first states in 8 bits. In backward each
 * parameter has an optimizer of its own, with maps of its own. */
static void make_code_maps(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter)
{
    ms_tensor *maps = ms_step_run(tape)->training.optimizer_in_backward
                          ? parameter->states + STATE_MAPS
                          : tape->code_maps;
    for (uint32_t i = 0; i < 2; i++)
        if (row->states[i] && !maps[i])
            maps[i] =
                ms_optimizer_state(tape, MS_SHAPE({.value = CODES}), MS_DTYPE_F32, map_names[i]);
}

void ms_make_blocks(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter)
{
    ms_dtype type = state_type(tape, row, parameter);
    ms_shape shape = ms_info(tape, parameter->tensor)->shape;
    if (type == MS_DTYPE_U8)
        make_code_maps(tape, row, parameter);
    for (uint32_t i = 0; i < 2; i++)
        if (row->states[i] && !is_paged(tape, row, parameter))
            parameter->states[i] = ms_optimizer_state(tape, shape, type, row->states[i]);
    uint64_t blocks = (elements_of(tape, parameter) + BLOCK_ELEMENTS - 1) / BLOCK_ELEMENTS;
    for (uint32_t i = 0; i < 2 && type == MS_DTYPE_U8; i++)
        if (row->states[i])
            parameter->states[STATE_SCALES + i] =
                ms_optimizer_state(tape, MS_SHAPE({.value = blocks}), MS_DTYPE_F32, scale_names[i]);
}

/* ---- muon ---- */

/* torch.optim.Muon updates matrices of the layers; embeddings, the output head and parameters that
 * are not matrices use AdamW, as its documentation advises. Each update is orthogonalised by five
 * Newton-Schulz iterations in bf16, one matrix at a time. */

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

/* ---- moments ---- */

void ms_make_moments(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter)
{
    const ms_tensor_info info = *ms_info(tape, parameter->tensor);
    bool step_on_device =
        ms_step_run(tape)->training.optimizer_impl == MS_OPTIMIZER_FUSED || tape->on_cpu;
    if (row->has_step && step_on_device)
        parameter->states[2] =
            ms_optimizer_state(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32, "step");
    for (uint32_t i = 0; i < 2; i++)
        if (row->states[i])
            parameter->states[i] =
                ms_optimizer_state(tape, info.shape, (ms_dtype)info.dtype, row->states[i]);
}

static ms_tensor like(ms_tape *tape, ms_tensor tensor)
{
    return ms_empty_like(tape, tensor, (ms_dtype)ms_info(tape, tensor)->dtype);
}

/* Decay that is added to the gradient needs another gradient; AdamW's is not. */
static bool adds_decay(const ms_tape *tape, const ms_stepped *stepped)
{
    return stepped->row->adds_decay && ms_step_run(tape)->training.weight_decay > 0;
}

/* ---- foreach ---- */

/* device_grads = torch._foreach_add(device_grads, device_params, alpha=weight_decay) */
static ms_tensor_list decayed_gradients(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list none = {0};
    return adds_decay(tape, stepped) ? ms_list_like(tape, stepped, MS_LIST_OF_GRADIENTS) : none;
}

/* The first momentum is a clone of the gradient. */
void ms_sgd_foreach(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list grads = decayed_gradients(tape, stepped);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++)
        ms_optimizer_make_states(tape, stepped->row, ms_stepped_at(tape, stepped, i));
    ms_list_drop(tape, &grads);
}

/* sqrt(exp_avg_sq) of every parameter; the decayed gradients are gone by then. */
void ms_adam_foreach(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list grads = decayed_gradients(tape, stepped);
    ms_list_drop(tape, &grads);
    ms_tensor_list roots = ms_list_like(tape, stepped, 1);
    if (tape->on_cpu)
        ms_cpu_number(tape, ms_step_run(tape)->dtype); /* eps */
    ms_list_drop(tape, &roots);
}

/* sqrt(square_avg) of every parameter. */
void ms_rmsprop_foreach(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list grads = decayed_gradients(tape, stepped);
    ms_tensor_list roots = ms_list_like(tape, stepped, 0);
    ms_list_drop(tape, &grads);
    ms_list_drop(tape, &roots);
}

/* The numerators, gradients times the learning rate, are the decayed gradients if there are any. */
void ms_adagrad_foreach(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list numerators = decayed_gradients(tape, stepped);
    ms_tensor_list roots = ms_list_like(tape, stepped, 0);
    if (!numerators.count)
        numerators = ms_list_like(tape, stepped, MS_LIST_OF_GRADIENTS);
    ms_list_drop(tape, &roots);
    ms_list_drop(tape, &numerators);
}

/* ---- the loop: a local lives until the next parameter's ---- */

typedef struct loop {
    ms_locals frame;
    bool adds_decay;
    ms_tensor *grad, *root;
} loop;

static void loop_begin(ms_tape *tape, const ms_stepped *stepped, loop *l)
{
    l->adds_decay = adds_decay(tape, stepped);
    l->frame = ms_locals_begin(tape);
    l->grad = ms_local(&l->frame, 0);
    l->root = ms_local(&l->frame, 0);
}

/* grad = grads[i], then grad.add(param, alpha=weight_decay) */
static void take_gradient(loop *l, const ms_parameter *parameter)
{
    ms_tape *tape = l->frame.tape;
    ms_assign(&l->frame, l->grad, parameter->grad);
    if (l->adds_decay)
        ms_assign(&l->frame, l->grad, like(tape, parameter->grad));
}

void ms_sgd_loop(ms_tape *tape, const ms_stepped *stepped)
{
    loop l;
    loop_begin(tape, stepped, &l);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        ms_parameter *parameter = ms_stepped_at(tape, stepped, i);
        take_gradient(&l, parameter);
        ms_optimizer_make_states(tape, stepped->row, parameter);
        if (parameter->states[0])
            ms_assign(&l.frame, l.grad, parameter->states[0]); /* grad = buf */
    }
    ms_locals_end(&l.frame, NULL);
}

/* denom = (exp_avg_sq.sqrt() / c).add_(eps) */
void ms_adam_loop(ms_tape *tape, const ms_stepped *stepped)
{
    loop l;
    loop_begin(tape, stepped, &l);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = ms_stepped_at(tape, stepped, i);
        take_gradient(&l, parameter);
        ms_tensor root = like(tape, parameter->states[1]);
        ms_tensor quotient = like(tape, parameter->states[1]);
        if (tape->on_cpu)
            ms_cpu_number(tape, (ms_dtype)ms_info(tape, root)->dtype); /* the bias correction */
        ms_consume(tape, root);
        ms_assign(&l.frame, l.root, quotient);
    }
    ms_locals_end(&l.frame, NULL);
}

/* The root of the only state. */
void ms_root_loop(ms_tape *tape, const ms_stepped *stepped)
{
    loop l;
    loop_begin(tape, stepped, &l);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = ms_stepped_at(tape, stepped, i);
        take_gradient(&l, parameter);
        ms_assign(&l.frame, l.root, like(tape, parameter->states[0]));
    }
    ms_locals_end(&l.frame, NULL);
}
