/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/group_router.h"

#include "input/config/model/model_config.h"
#include "model/blocks/host/host_modules.h"
#include "model/decoder/expert_choice.h"
#include "torch/ops/moe/experts.h"
#include "torch/ops/moe/routing.h"

ms_group_router ms_group_router_new(ms_model *model, uint32_t parent)
{
    ms_tape *tape = model->tape;
    ms_group_router r = {.scope = ms_scope_add(tape, parent, "gate", MS_NONE)};
    ms_dim count = ms_expert_count(model);
    r.weight = ms_parameter_new(model, r.scope, "weight", MS_SHAPE(count, model->hidden));
    r.bias = ms_buffer_new(model, MS_SHAPE(count), model->run->dtype, "e_score_correction_bias");
    return r;
}

/* linear(x.float(), weight.float()) */
static ms_tensor logits_of(ms_model *model, const ms_group_router *router, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    ms_tensor input = ms_to(tape, x, MS_DTYPE_F32);
    ms_tensor weight = ms_to(tape, router->weight, MS_DTYPE_F32);
    ms_retain(tape, weight); /* an argument */
    ms_tensor out = ms_linear(tape, input, weight, 0);
    ms_release(tape, weight);
    return out;
}

/* By sigmoids, with a bias for the choice alone. */
static void choose(ms_model *model, const ms_group_router *router, ms_locals *f, ms_tensor logits,
                   ms_routing *out)
{
    ms_tape *tape = model->tape;
    ms_tensor *scores = ms_local(f, ms_idle(tape) ? 0 : ms_sigmoid(tape, logits));
    if (ms_idle(tape))
        return;
    ms_tensor chosen[MS_CHOICE_VALUES];
    ms_choose_by_pairs(model, *scores, router->bias, chosen);
    for (uint32_t i = MS_CHOICE_VALUES; i-- > 1;)
        ms_local(f, chosen[i]);
    ms_tensor *experts = ms_local(f, chosen[0]);
    ms_tensor *weights = ms_local(f, ms_gather_last(tape, *scores, *experts));
    if (model->config->normalises_experts) {
        ms_tensor *sum = ms_local(f, ms_add_scalar(tape, ms_sum_dim(tape, *weights, 1, true)));
        ms_assign(f, weights, ms_div_into(tape, *weights, *sum));
    }
    ms_assign(f, weights, ms_mul_scalar(tape, *weights));
    ms_routing_keep(model, logits, *weights, *experts, out);
}

void ms_group_router_call(ms_model *model, const ms_group_router *router, ms_tensor hidden,
                          ms_routing *out)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, router->scope);
    *out = (ms_routing){0};
    const ms_fetched fetched = ms_host_fetch_pair(model, router->weight, 0);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, hidden);
    ms_assign(&f, input, ms_as_tokens(model, *input));
    ms_tensor *logits = ms_local(&f, logits_of(model, router, *input));
    choose(model, router, &f, *logits, out);
    ms_locals_end(&f, NULL);
    ms_host_drop(model, &fetched);
    tape->scope = previous;
}
