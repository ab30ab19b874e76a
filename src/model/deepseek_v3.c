/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSeek-V3: latent attention whose rotary embedding turns neighbours; sigmoid router with a bias
 * for the choice alone, within the best groups.
 */
#include "model/deepseek.h"
#include "model/families.h"
#include "model/family_keys.h"
#include "ops/experts.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 129280, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 7168, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 18432, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 61, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 128, MAX_HEADS),
    KV_HEADS_OR(128),
    LATENT_KEYS(1536),
    COUNT("max_position_embeddings", max_positions, 4096, MAX_POSITIONS),
    EXPERTS("n_routed_experts", "num_local_experts", 256),
    EXPERTS_PER_TOKEN(8),
    COUNT("n_shared_experts", shared_experts, 1, MAX_EXPERTS),
    COUNT("moe_intermediate_size", expert_size, 2048, MAX_INTERMEDIATE),
    FIRST_SPARSE_LAYER(3),
    COUNT("n_group", expert_groups, 8, MAX_EXPERTS),
    COUNT("topk_group", chosen_groups, 4, MAX_EXPERTS),
    BOOL("norm_topk_prob", normalises_experts, true),
    PREDICTION_LAYERS("num_nextn_predict_layers", "num_mtp_layers"),
    ROUTER_LOGITS,
    BOOL("rope_interleave", pairs_neighbours, true),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("head_dim"), IGNORED("routed_scaling_factor"), IGNORED("topk_method"),
    IGNORED("scoring_func"), IGNORED("moe_layer_freq"), IGNORED("aux_loss_alpha"), IGNORED("seq_aux"),
    IGNORED("pretraining_tp"), IGNORED("ep_size"),
};
/* clang-format on */

/* ---- rotary embeddings of neighbours ---- */

static ms_tensor turn(ms_tape *tape, ms_tensor even, ms_tensor odd, ms_tensor cos, ms_tensor sin)
{
    ms_tensor product = ms_mul(tape, even, cos);
    ms_tensor lower = ms_sub(tape, product, ms_mul(tape, odd, sin));
    ms_retain(tape, lower);
    product = ms_mul(tape, odd, cos);
    ms_tensor upper = ms_add(tape, product, ms_mul(tape, even, sin));
    ms_retain(tape, upper);
    ms_tensor out = ms_cat2(tape, lower, upper, 3);
    ms_release(tape, upper); /* a list drops its last item first */
    ms_release(tape, lower);
    return out;
}

static void turn_neighbours(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                            ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *c = ms_local(&f, ms_unsqueeze(tape, ms_slice_half(tape, cos, false), 1));
    ms_tensor *s = ms_local(&f, ms_unsqueeze(tape, ms_slice_half(tape, sin, false), 1));
    ms_tensor *q_even = ms_local(&f, ms_slice_every_second(tape, q));
    ms_tensor *q_odd = ms_local(&f, ms_slice_every_second(tape, q));
    ms_tensor *k_even = ms_local(&f, ms_slice_every_second(tape, k));
    ms_tensor *k_odd = ms_local(&f, ms_slice_every_second(tape, k));
    ms_tensor *q_embed = ms_local(&f, turn(tape, *q_even, *q_odd, *c, *s));
    ms_tensor *k_embed = ms_local(&f, turn(tape, *k_even, *k_odd, *c, *s));
    ms_return_both(&f, *q_embed, *k_embed, out);
}

/* ---- router ---- */

/* The best experts, by scores and bias, of the groups whose two best are best. No gradient comes
 * here: what nodes kept is bound beside the tensors whose nodes they are. */
static ms_tensor choose(ms_model *model, const ms_group_router *router, ms_frame *f,
                        ms_tensor scores)
{
    ms_tape *tape = model->tape;
    bool grad_enabled = tape->grad_enabled;
    tape->grad_enabled = false;
    ms_tensor best[2];
    ms_tensor *hidden_mask = ms_local(f, 0);
    ms_tensor *choice = ms_local(f, ms_add(tape, scores, router->bias));
    ms_dim two = ms_dim_number(&tape->trace->symbols, 2);
    ms_topk(tape, ms_by_group(model, *choice), two, best);
    ms_tensor *pairs = ms_local(f, best[1]);
    ms_tensor *groups = ms_local(f, ms_sum_dim(tape, best[0], 2, false));
    ms_group_choice chosen = ms_choose_groups(model, f, *groups);
    ms_assign(f, hidden_mask, ms_where_zero(tape, *chosen.mask));
    ms_assign(f, choice, ms_masked_fill(tape, *choice, *hidden_mask));
    ms_topk(tape, *choice, ms_experts_per_token(model), best);
    ms_retain(tape, best[1]);
    ms_consume(tape, best[0]);
    tape->grad_enabled = grad_enabled;
    const ms_tensor passing[] = {*pairs, *chosen.groups, *hidden_mask};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        ms_save_in_passing(tape, passing[i]);
    return ms_unown(tape, best[1]);
}

static void route(ms_model *model, const ms_group_router *router, ms_frame *f, ms_tensor logits,
                  ms_routing *out)
{
    ms_tape *tape = model->tape;
    ms_tensor *scores = ms_local(f, ms_idle(tape) ? 0 : ms_sigmoid(tape, logits));
    if (ms_idle(tape))
        return;
    ms_tensor *experts = ms_local(f, choose(model, router, f, *scores));
    ms_tensor *weights = ms_local(f, ms_gather_last(tape, *scores, *experts));
    if (model->config->normalises_experts) {
        ms_tensor *sum = ms_local(f, ms_add_scalar(tape, ms_sum_dim(tape, *weights, 1, true)));
        ms_assign(f, weights, ms_div_into(tape, *weights, *sum));
    }
    ms_assign(f, weights, ms_mul_scalar(tape, *weights));
    ms_routing_keep(model, logits, *weights, *experts, out);
}

/* ---- the family ---- */

static const ms_deepseek_form form = {.route = route, .has_bias = true};

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    return ms_deepseek_mlp_new(model, form, parent, number);
}

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden)
{
    return ms_deepseek_mlp(model, form, layer, hidden);
}

static bool build(ms_model *model)
{
    ms_rotary_fn rotary = model->config->pairs_neighbours ? turn_neighbours : ms_rotary_whole;
    return ms_decoder_build(model, (ms_decoder_style){.build_attention = ms_latent_attention_new,
                                                      .attention = ms_latent_attention,
                                                      .rotary = rotary,
                                                      .build_mlp = build_mlp,
                                                      .mlp = mlp,
                                                      .drop = ms_router_logits_drop});
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (config->num_experts / config->expert_groups < 2) {
        snprintf(err->pointer, sizeof err->pointer, "/n_group");
        return ms_fail(err, MS_ERR_CONFIG, "a group needs two experts: the two best are its score");
    }
    return ms_check_deepseek(config, true, err);
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_deepseek_v3 = {.model_type = "deepseek_v3",
                                         .classes = {{"DeepseekV3ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                         .keys = keys,
                                         .key_count = sizeof keys / sizeof *keys,
                                         .check = check,
                                         .layer_kind = ms_sparse_from_first,
                                         .program = &program};
