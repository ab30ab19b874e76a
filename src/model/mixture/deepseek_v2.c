/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSeek-V2: latent attention with complex rotary embeddings; softmax router, greedy or limited
 * to the best groups.
 */
#include "model/decoder/expert_choice.h"
#include "model/decoder/router_loss.h"
#include "model/mixture/complex_rotary.h"
#include "model/mixture/deepseek.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/mixture/deepseek_moe.h"
#include "model/mixture/latent_attention.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/experts.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 102400, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 11008, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_AS_HEADS,
    LATENT_KEYS(1536),
    COUNT("max_position_embeddings", max_positions, 2048, MAX_POSITIONS),
    EXPERTS("n_routed_experts", "num_experts", 64),
    OPTIONAL("num_experts_per_tok", experts_per_token, MS_DEFAULT_VALUE, 0, MS_DEFAULT_VALUE, 0, MAX_EXPERTS),
    COUNT("n_shared_experts", shared_experts, 2, MAX_EXPERTS),
    COUNT("moe_intermediate_size", expert_size, 1407, MAX_INTERMEDIATE),
    FIRST_SPARSE_LAYER(0),
    OPTIONAL("n_group", expert_groups, MS_DEFAULT_VALUE, 0, MS_DEFAULT_VALUE, 0, MAX_EXPERTS),
    OPTIONAL("topk_group", chosen_groups, MS_DEFAULT_VALUE, 0, MS_DEFAULT_VALUE, 0, MAX_EXPERTS),
    CHOICE("topk_method", limits_groups, "greedy", "group_limited_greedy"),
    ROUTER_LOGITS,
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    BOOL("mlp_bias", mlp_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("head_dim"), IGNORED("norm_topk_prob"), IGNORED("routed_scaling_factor"),
    IGNORED("scoring_func"), IGNORED("moe_layer_freq"), IGNORED("aux_loss_alpha"), IGNORED("seq_aux"),
    IGNORED("pretraining_tp"), IGNORED("ep_size"),
};
/* clang-format on */

/* ---- positions as complex numbers ---- */

static void rotary(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                   ms_tensor out[2])
{
    (void)sin;
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *query = ms_local(&f, ms_as_complex(tape, q));
    ms_tensor *key = ms_local(&f, ms_as_complex(tape, k));
    ms_tensor *turns = ms_local(&f, ms_unsqueeze(tape, cos, 1));
    ms_tensor *q_out = ms_local(&f, ms_turn_complex(tape, *query, *turns, q));
    ms_tensor *k_out = ms_local(&f, ms_turn_complex(tape, *key, *turns, k));
    ms_return_both(&f, *q_out, *k_out, out);
}

/* ---- router ---- */

static void route(ms_model *model, const ms_group_router *router, ms_locals *f, ms_tensor logits,
                  ms_routing *out)
{
    (void)router;
    ms_tape *tape = model->tape;
    ms_tensor best[2];
    ms_tensor *scores = ms_local(f, ms_softmax_last(tape, logits, MS_DTYPE_F32));
    ms_tensor *weights = ms_local(f, 0), *experts = ms_local(f, 0);
    if (model->config->limits_groups) {
        bool grad_enabled = tape->grad_enabled;
        tape->grad_enabled = false; /* no gradient comes here: what the node kept is a local */
        ms_max_last(tape, ms_by_group(model, *scores), false, best);
        ms_retain(tape, best[1]);
        ms_tensor *groups = ms_local(f, best[0]);
        ms_tensor *where = ms_local(f, ms_unown(tape, best[1]));
        ms_group_choice choice = ms_choose_groups(model, f, *groups);
        tape->grad_enabled = grad_enabled;
        ms_save_in_passing(tape, *where);
        ms_save_in_passing(tape, *choice.groups);
        ms_assign(f, scores, ms_masked_fill(tape, *scores, ms_where_zero(tape, *choice.mask)));
    }
    ms_topk(tape, *scores, ms_experts_per_token(model), best);
    ms_retain(tape, best[1]);
    ms_assign(f, weights, best[0]);
    ms_assign(f, experts, ms_unown(tape, best[1]));
    ms_assign(f, weights, ms_mul_scalar(tape, *weights));
    ms_routing_keep(model, logits, *weights, *experts, out);
}

/* ---- the family ---- */

static ms_deepseek_form form_of(const ms_model *model)
{
    return (ms_deepseek_form){.route = route, .mlp_bias = model->config->mlp_bias};
}

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    return ms_deepseek_mlp_new(model, form_of(model), parent, number);
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.build_attention = ms_latent_attention_new,
                                                      .attention = ms_latent_attention,
                                                      .rotary_tables = ms_complex_rotary_tables,
                                                      .rotary = rotary,
                                                      .build_mlp = build_mlp,
                                                      .mlp = ms_deepseek_mlp,
                                                      .drop = ms_router_logits_drop});
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    ms_status status = ms_check_heads_divide(config, err);
    if (status == MS_OK)
        status = ms_check_latent(config, err);
    return status == MS_OK ? ms_check_groups(config, config->limits_groups, err) : status;
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .peft = {.usual_lora = "q_proj+q_b_proj+kv_b_proj", .exchanged = ms_experts_of_qwen2_moe},
    .liger = {.kernels = MS_LIGER_RMS_NORM | MS_LIGER_SWIGLU | MS_LIGER_LOSS,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
    .llama_cpp = "deepseek2",
    .vllm = &(const ms_vllm_arch){.norms = 2,
                                  .mlp_rows = 4,
                                  .tie = MS_VLLM_TIE_DROPS,
                                  .table = MS_VLLM_TABLE_WIDE,
                                  .experts = MS_VLLM_EXPERTS_SOME,
                                  .is_latent = true,
                                  .has_v2_experts = true},
    .has_code_of_its_own = true,
};

const ms_family ms_family_deepseek_v2 = {.model_type = "deepseek_v2",
                                         .facts = &facts,
                                         .classes = {{"DeepseekV2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                         .keys = keys,
                                         .key_count = sizeof keys / sizeof *keys,
                                         .check = check,
                                         .layer_kind = ms_sparse_from_first,
                                         .takes_cache = true,
                                         .program = &program};
