/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/mixture/deepseek_moe.h"

#include "model/blocks/host/host_modules.h"
#include "model/decoder/decoder_mlp.h"
#include "model/decoder/expert_choice.h"
#include "model/mixture/deepseek.h"
#include "model/family/family_keys.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/experts.h"

typedef struct deepseek_moe {
    uint32_t scope;
    ms_deepseek_form form;
    ms_experts_module experts;
    ms_group_router router;
    void *shared_experts;
} deepseek_moe;

ms_group_router ms_group_router_new(ms_model *model, uint32_t parent, ms_deepseek_form form)
{
    ms_tape *tape = model->tape;
    ms_group_router r = {.scope = ms_scope_add(tape, parent, "gate", MS_NONE)};
    ms_dim count = ms_expert_count(model);
    r.weight = ms_parameter_new(model, r.scope, "weight", MS_SHAPE(count, model->hidden));
    ms_dtype dtype = form.bias_in_fp32 ? MS_DTYPE_F32 : model->run->dtype;
    if (form.has_bias)
        r.bias = ms_buffer_new(model, MS_SHAPE(count), dtype, "e_score_correction_bias");
    return r;
}

void *ms_deepseek_mlp_new(ms_model *model, ms_deepseek_form form, uint32_t parent, uint32_t number)
{
    ms_symbols *s = &model->tape->trace->symbols;
    if (!ms_layer_is_sparse(model, number))
        return ms_gated_mlp_named(model, parent, "mlp", model->intermediate, form.mlp_bias);
    deepseek_moe *m = ms_arena_array(model->arena, deepseek_moe, 1);
    if (!m)
        return NULL;
    ms_dim shared =
        ms_dim_mul(s, ms_dim_number(s, model->config->shared_experts), ms_expert_width(model));
    m->form = form;
    m->scope = ms_scope_add(model->tape, parent, "mlp", MS_NONE);
    m->experts = ms_experts_new(model, m->scope, (ms_experts_form){0});
    m->router = ms_group_router_new(model, m->scope, form);
    m->shared_experts =
        ms_gated_mlp_named(model, m->scope, "shared_experts", shared, form.mlp_bias);
    return m->shared_experts ? m : NULL;
}

/* ---- router ---- */

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

void ms_group_router_call(ms_model *model, ms_deepseek_form form, const ms_group_router *router,
                          ms_tensor hidden, ms_routing *out)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, router->scope);
    *out = (ms_routing){0};
    const ms_fetched fetched = ms_host_fetch_pair(model, router->weight, 0);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, hidden);
    ms_assign(&f, input, ms_as_tokens(model, *input));
    ms_tensor *logits = ms_local(&f, logits_of(model, router, *input));
    form.route(model, router, &f, *logits, out);
    ms_locals_end(&f, NULL);
    ms_host_drop(model, &fetched);
    tape->scope = previous;
}

/* ---- V3's router: sigmoids, with a bias for the choice alone ---- */

void ms_route_by_sigmoid(ms_model *model, const ms_group_router *router, ms_locals *f,
                         ms_tensor logits, ms_routing *out)
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

/* ---- the block ---- */

ms_tensor ms_deepseek_mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const deepseek_moe *m = layer->mlp;
    if (!ms_layer_is_sparse(model, layer->number))
        return ms_gated_mlp(model, layer, x);
    if (ms_idle(tape) || !x)
        return 0;
    const ms_shape shape = ms_info(tape, x)->shape;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_routing routing;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_group_router_call(model, m->form, &m->router, *residual, &routing);
    ms_routing_bind(&f, &routing);
    ms_assign(&f, hidden, ms_as_tokens(model, *hidden));
    ms_assign(&f, hidden,
              ms_reshape(tape, ms_experts_call(model, &m->experts, *hidden, &routing), shape));
    ms_tensor shared = ms_gated_mlp_call(model, m->shared_experts, *residual);
    ms_assign(&f, hidden, ms_add(tape, *hidden, shared));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- rules ---- */

uint8_t ms_sparse_from_first(const ms_model_config *config, uint64_t layer)
{
    return layer >= config->first_sparse_layer ? MS_LAYER_SPARSE : 0;
}

static ms_status refuse(ms_error *err, const char *pointer, const char *text)
{
    snprintf(err->pointer, sizeof err->pointer, "%s", pointer);
    return ms_fail(err, MS_ERR_CONFIG, "%s", text);
}

ms_status ms_check_latent(const ms_model_config *config, ms_error *err)
{
    if (config->num_kv_heads != config->num_heads)
        return refuse(err, "/num_key_value_heads",
                      "latent attention needs as many key heads as query heads");
    return MS_OK;
}

ms_status ms_check_pairs(const ms_model_config *config, ms_error *err)
{
    return ms_check_groups(config, 2, err);
}

ms_status ms_check_groups(const ms_model_config *config, uint64_t least, ms_error *err)
{
    if (least == 0)
        return ms_check_experts(config, err);
    if (config->expert_groups == 0 || config->num_experts % config->expert_groups != 0)
        return refuse(err, "/n_group", "n_group must divide n_routed_experts");
    if (config->num_experts / config->expert_groups < least)
        return refuse(err, "/n_group", "a group needs two experts: the two best make its score");
    if (config->chosen_groups == 0 || config->chosen_groups > config->expert_groups)
        return refuse(err, "/topk_group", "topk_group must be from 1 to n_group");
    if (config->experts_per_token >
        config->num_experts / config->expert_groups * config->chosen_groups)
        return refuse(err, "/num_experts_per_tok",
                      "num_experts_per_tok is more than the selected groups have");
    return ms_check_experts(config, err);
}
