/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSeek-V3.2: DeepSeek-V3 with an indexer in each layer, which chooses the tokens that attention
 * sees.
 */
#include "input/config/model/family.h"
#include "model/decoder/router_loss.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/mixture/deepseek_moe.h"
#include "model/mixture/latent_attention.h"
#include "torch/ops/ops.h"

/* More would be sorted with other memory. */
enum { MOST_CHOSEN = 4096 };

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 129280, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 7168, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 18432, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 61, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 128, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 128, MAX_HEADS),
    COUNT("qk_rope_head_dim", head_dim, 64, MAX_HEAD_DIM),
    COUNT("qk_nope_head_dim", plain_key_dim, 128, MAX_HEAD_DIM),
    COUNT("v_head_dim", value_dim, 128, MAX_HEAD_DIM),
    COUNT("q_lora_rank", query_rank, 1536, MAX_HIDDEN),
    COUNT("kv_lora_rank", latent_rank, 512, MAX_HIDDEN),
    COUNT("index_n_heads", index_heads, 64, MAX_HEADS),
    COUNT("index_head_dim", index_dim, 128, MAX_HEAD_DIM),
    COUNT("index_topk", index_tokens, 2048, MOST_CHOSEN),
    COUNT("max_position_embeddings", max_positions, 163840, MAX_POSITIONS),
    EXPERTS("n_routed_experts", "num_local_experts", 256),
    EXPERTS_PER_TOKEN(8),
    COUNT("n_shared_experts", shared_experts, 1, MAX_EXPERTS),
    COUNT("moe_intermediate_size", expert_size, 2048, MAX_INTERMEDIATE),
    FIRST_SPARSE_LAYER(3),
    { .name = "mlp_layer_types", .kind = MS_KEY_MLP_TYPES },
    COUNT("n_group", expert_groups, 8, MAX_EXPERTS),
    COUNT("topk_group", chosen_groups, 4, MAX_EXPERTS),
    BOOL("norm_topk_prob", normalises_experts, true),
    PREDICTION_LAYERS("num_nextn_predict_layers", "num_mtp_layers"),
    ROUTER_LOGITS,
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("head_dim"), IGNORED("routed_scaling_factor"), IGNORED("topk_method"),
    IGNORED("scoring_func"), IGNORED("moe_layer_freq"), IGNORED("aux_loss_alpha"), IGNORED("seq_aux"),
    IGNORED("pretraining_tp"), IGNORED("ep_size"),
    IGNORED("rope_interleave"), IGNORED("layer_types"), IGNORED("mlp_bias"),
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

static void ms_rotary_neighbours(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos,
                                 ms_tensor sin, ms_tensor out[2])
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

static const ms_deepseek_form form = {
    .route = ms_route_by_sigmoid, .has_bias = true, .bias_in_fp32 = true};

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    return ms_deepseek_mlp_new(model, form, parent, number);
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.build_attention = ms_latent_attention_new,
                                                      .attention = ms_latent_attention,
                                                      .rotary = ms_rotary_neighbours,
                                                      .build_mlp = build_mlp,
                                                      .mlp = ms_deepseek_mlp,
                                                      .mask_arguments = true,
                                                      .drop = ms_router_logits_drop});
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    ms_status status = ms_check_latent(config, err);
    if (status == MS_OK && config->index_dim <= config->head_dim) {
        snprintf(err->pointer, sizeof err->pointer, "/index_head_dim");
        return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " is not more than qk_rope_head_dim %" PRIu64,
                       config->index_dim, config->head_dim);
    }
    return status == MS_OK ? ms_check_groups(config, 2, err) : status;
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .peft = {.exchanged = ms_experts_of_qwen2_moe,
             .refused = {{"wq_b", "no gradient comes to the indexer", "q_a_proj"},
                         {"wk", "no gradient comes to the indexer", "q_a_proj"},
                         {"weights_proj", "no gradient comes to the indexer", "q_a_proj"}}},
};

const ms_family ms_family_deepseek_v32 = {
    .model_type = "deepseek_v32",
    .facts = &facts,
    .classes = {{"DeepseekV32ForCausalLM", MS_HEAD_CAUSAL_LM}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .check = check,
    .layer_kind = ms_sparse_from_first,
    .always_masks = true,
    .unpredicted = MS_UNPREDICTED_DOCUMENTS | MS_UNPREDICTED_HOST_PARAMETERS,
    .program = &program};
