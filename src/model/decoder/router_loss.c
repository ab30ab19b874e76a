/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/router_loss.h"

#include "model/decoder/experts.h"

#include "input/config/model/model_config.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/experts.h"

void ms_router_logits_keep(ms_model *model, ms_tensor logits)
{
    ms_tape *tape = model->tape;
    bool is_forward = tape->pass == MS_PASS_FORWARD && !tape->in_backward;
    if (!model->config->outputs_router_logits || !is_forward || ms_idle(tape) || !logits)
        return;
    if (ms_vec_push(&model->router_logits, logits))
        ms_retain(tape, logits);
    else
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

void ms_router_logits_drop(ms_model *model)
{
    while (model->router_logits.count)
        ms_release(model->tape, model->router_logits.items[--model->router_logits.count]);
}

/* The function's locals. */
typedef struct balance {
    ms_tensor *tokens, *probability, *weights, *best, *chosen;
} balance;

/* The best values are bound and never used: their node would do nothing. */
static void choose(ms_model *model, ms_locals *f, const balance *b)
{
    ms_tape *tape = model->tape;
    ms_tensor out[2];
    bool grad_enabled = tape->grad_enabled;
    tape->grad_enabled = false;
    ms_topk(tape, *b->weights, ms_experts_per_token(model), out);
    tape->grad_enabled = grad_enabled;
    ms_save_in_passing(tape, out[1]);
    ms_retain(tape, out[1]);
    ms_assign(f, b->best, out[0]);
    ms_assign(f, b->chosen, ms_unown(tape, out[1]));
}

static void add_layer(ms_model *model, ms_locals *f, const balance *b, ms_tensor logits)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    ms_dtype dtype = (ms_dtype)ms_info(tape, logits)->dtype;
    ms_assign(f, b->weights, ms_softmax_last(tape, logits, dtype));
    choose(model, f, b);
    if (ms_idle(tape))
        return;
    const ms_shape chosen = ms_info(tape, *b->chosen)->shape;
    ms_shape flat = MS_SHAPE(ms_dim_mul(&tape->trace->symbols, chosen.dims[0], chosen.dims[1]));
    ms_tensor numbers =
        ms_to(tape, ms_reshape(tape, *b->chosen, flat), tape->on_cpu ? MS_DTYPE_F32 : MS_DTYPE_I32);
    ms_tensor counts = ms_histogram(tape, numbers, ms_expert_count(model));
    ms_assign(f, b->tokens, ms_add(tape, *b->tokens, counts));
    ms_tensor sum = ms_sum_dim(tape, ms_to(tape, *b->weights, MS_DTYPE_F32), 0, false);
    ms_assign(f, b->probability, ms_add(tape, *b->probability, sum));
}

static ms_tensor balancing_loss(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_shape each = MS_SHAPE(ms_expert_count(model));
    ms_locals f = ms_locals_begin(tape);
    balance b = {.tokens = ms_local(&f, ms_empty(tape, each, MS_DTYPE_F32))};
    b.probability = ms_local(&f, ms_empty(tape, each, MS_DTYPE_F32));
    b.weights = ms_local(&f, 0);
    b.best = ms_local(&f, 0);
    b.chosen = ms_local(&f, 0);
    for (uint32_t i = 0; i < model->router_logits.count; i++)
        add_layer(model, &f, &b, model->router_logits.items[i]);
    ms_tensor *tokens = ms_local(&f, ms_mul_scalar(tape, *b.tokens));
    ms_tensor *probability = ms_local(&f, ms_mul_scalar(tape, *b.probability));
    ms_tensor product = ms_mul(tape, *tokens, ms_unsqueeze(tape, *probability, 0));
    ms_tensor *overall = ms_local(&f, ms_sum_dim(tape, ms_reshape(tape, product, each), 0, false));
    ms_tensor result = ms_mul_scalar(tape, *overall);
    ms_retain(tape, result);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, result);
}

void ms_router_loss_add(ms_model *model, ms_locals *f, ms_tensor *auxiliary, ms_tensor *loss)
{
    ms_tape *tape = model->tape;
    if (model->router_logits.count == 0 || ms_idle(tape))
        return;
    ms_assign(f, auxiliary, balancing_loss(model));
    if (*loss)
        ms_assign(f, loss, ms_add_into(tape, *loss, ms_mul_scalar(tape, *auxiliary)));
}
