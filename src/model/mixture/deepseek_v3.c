/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSeek-V3: latent attention with rotary embeddings of neighbouring elements; a sigmoid router.
 */
#include "model/mixture/deepseek_v3.h"

#include "model/decoder/router_loss.h"
#include "model/mixture/deepseek.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/mixture/deepseek_moe.h"
#include "model/mixture/latent_attention.h"
#include "torch/ops/moe/experts.h"

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

void ms_rotary_neighbours(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                          ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
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

/* ---- the family ---- */

static const ms_deepseek_form form = {.route = ms_route_by_sigmoid, .has_bias = true};

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    return ms_deepseek_mlp_new(model, form, parent, number);
}

static bool build(ms_model *model)
{
    ms_rotary_fn rotary = model->config->pairs_neighbours ? ms_rotary_neighbours : ms_rotary_whole;
    return ms_decoder_build(model, (ms_decoder_style){.build_attention = ms_latent_attention_new,
                                                      .attention = ms_latent_attention,
                                                      .rotary = rotary,
                                                      .build_mlp = build_mlp,
                                                      .mlp = ms_deepseek_mlp,
                                                      .drop = ms_router_logits_drop});
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    ms_status status = ms_check_latent(config, err);
    return status == MS_OK ? ms_check_groups(config, 2, err) : status;
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .peft = {.usual_lora = "q_proj+q_b_proj+kv_b_proj", .exchanged = ms_experts_of_qwen2_moe},
    .liger = {.kernels = MS_LIGER_RMS_NORM | MS_LIGER_SWIGLU | MS_LIGER_LOSS,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
    .vllm = &(const ms_vllm_arch){.norms = 2,
                                  .mlp_rows = 4,
                                  .tie = MS_VLLM_TIE_DROPS,
                                  .table = MS_VLLM_TABLE_WIDE,
                                  .experts = MS_VLLM_EXPERTS_SOME,
                                  .is_latent = true,
                                  .has_router_bias = true},
    .has_code_of_its_own = true,
};

const ms_family ms_family_deepseek_v3 = {.model_type = "deepseek_v3",
                                         .facts = &facts,
                                         .classes = {{"DeepseekV3ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                         .keys = keys,
                                         .key_count = sizeof keys / sizeof *keys,
                                         .check = check,
                                         .layer_kind = ms_sparse_from_first,
                                         .takes_cache = true,
                                         .program = &program};
