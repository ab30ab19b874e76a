/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dense/gemma3n/mlp.h"

#include "input/config/model/model_config.h"
#include "torch/ops/ops.h"

typedef struct mlp {
    uint32_t scope;
    bool is_sparse;
    ms_linear_module gate, up, down;
} mlp;

void *ms_gemma3n_mlp_new(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    mlp *m = ms_arena_array(model->arena, mlp, 1);
    (void)d;
    if (!m)
        return NULL;
    m->is_sparse = ms_layer_kind(model->config, number) & MS_LAYER_SPARSE_GATE;
    m->scope = ms_scope_add(model->tape, parent, "mlp", MS_NONE);
    m->gate =
        ms_linear_new(model, m->scope, "gate_proj", model->hidden, model->intermediate, false);
    m->up = ms_linear_new(model, m->scope, "up_proj", model->hidden, model->intermediate, false);
    m->down =
        ms_linear_new(model, m->scope, "down_proj", model->intermediate, model->hidden, false);
    return m;
}

/* mean + deviation * normal.icdf(share), as a number of the type: from the share, a tensor. */
static ms_tensor multiplier(ms_tape *tape, ms_tensor share, ms_tensor normal[2], ms_dtype dtype)
{
    ms_tensor x = ms_add_scalar(tape, ms_mul_scalar(tape, share));
    x = ms_erfinv(tape, x);
    x = tape->on_cpu ? ms_mul(tape, normal[1], x) : ms_mul_scalar(tape, x);
    x = ms_mul_scalar(tape, x);
    x = tape->on_cpu ? ms_add(tape, normal[0], x) : ms_add_scalar(tape, x);
    return ms_to(tape, x, dtype);
}

/* relu(x - (mean(x) + std(x) * multiplier)) */
static ms_tensor largest(ms_tape *tape, ms_tensor x)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *inputs = ms_argument(&f, x);
    ms_tensor *share = ms_local(&f, ms_empty(tape, (ms_shape){0}, MS_DTYPE_F32));
    ms_tensor *normal[2] = {ms_local(&f, 0), ms_local(&f, 0)};
    for (int i = 0; i < 2 && tape->on_cpu; i++) /* of the host, so on the device if that is it */
        ms_assign(&f, normal[i], ms_empty(tape, (ms_shape){0}, MS_DTYPE_F32));
    ms_tensor *times =
        ms_local(&f, multiplier(tape, *share, (ms_tensor[]){*normal[0], *normal[1]}, dtype));
    ms_tensor *mean = ms_local(&f, ms_mean_last(tape, *inputs));
    ms_tensor *deviation = ms_local(&f, ms_std_last(tape, *inputs));
    ms_tensor *cutoff = ms_local(&f, ms_add(tape, *mean, ms_mul(tape, *deviation, *times)));
    ms_tensor *out = ms_local(&f, ms_relu(tape, ms_sub(tape, *inputs, *cutoff)));
    return ms_locals_end(&f, out);
}

ms_tensor ms_gemma3n_mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const mlp *m = layer->mlp;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *gate = ms_local(&f, ms_linear_call(model, &m->gate, *hidden));
    if (m->is_sparse)
        ms_assign(&f, gate, largest(tape, *gate));
    ms_tensor *activations = ms_local(&f, ms_activation_call(model, *gate));
    ms_tensor *up = ms_local(&f, ms_linear_call(model, &m->up, *hidden));
    ms_tensor *down =
        ms_local(&f, ms_linear_call(model, &m->down, ms_mul(tape, *activations, *up)));
    ms_tensor result = ms_locals_end(&f, down);
    tape->scope = previous;
    return result;
}
