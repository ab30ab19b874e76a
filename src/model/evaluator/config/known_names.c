/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/config/known_names.h"

#include <string.h>

#include "input/config/model/model_keys.h"

#define KNOWN(name, member, type, most, dim)                                                       \
    {                                                                                              \
        name, MEMBER(member), type, most, dim, NULL                                                \
    }
#define NAMED(name, member, most, symbol)                                                          \
    {                                                                                              \
        name, MEMBER(member), MS_OF_COUNTS, most, MS_FAMILY_DIM_NAMED, symbol                      \
    }
#define PLAIN MS_FAMILY_DIM_OWN
/* The same where it may be 0. */
#define LETTER(name, member, most, symbol)                                                         \
    {                                                                                              \
        name, MEMBER(member), MS_OF_COUNTS, most, PLAIN, symbol                                    \
    }

static const ms_known_name known[] = {
    KNOWN("vocab_size", vocab_size, MS_OF_COUNTS, MAX_VOCAB, MS_FAMILY_DIM_VOCAB),
    KNOWN("hidden_size", hidden_size, MS_OF_COUNTS, MAX_HIDDEN, MS_FAMILY_DIM_HIDDEN),
    KNOWN("intermediate_size", intermediate_size, MS_OF_COUNTS, MAX_INTERMEDIATE,
          MS_FAMILY_DIM_INTERMEDIATE),
    LETTER("num_hidden_layers", num_layers, MAX_LAYERS, "L"),
    KNOWN("num_encoder_layers", encoder_layers, MS_OF_COUNTS, MAX_LAYERS / 2, PLAIN),
    KNOWN("num_decoder_layers", decoder_layers, MS_OF_COUNTS, MAX_LAYERS / 2, PLAIN),
    NAMED("num_mel_bins", mel_bins, MAX_HIDDEN, "M"),
    NAMED("encoder_ffn_dim", encoder_intermediate, MAX_INTERMEDIATE, "Ie"),
    KNOWN("max_source_positions", source_positions, MS_OF_COUNTS, MAX_POSITIONS / 2,
          MS_FAMILY_DIM_SOURCE),
    KNOWN("num_channels", num_channels, MS_OF_COUNTS, 1 << 12, MS_FAMILY_DIM_NUMBER),
    KNOWN("image_height", image_sides[0], MS_OF_COUNTS, 1 << 14, MS_FAMILY_DIM_NUMBER),
    KNOWN("patch_height", patch_sides[0], MS_OF_COUNTS, 1 << 14, MS_FAMILY_DIM_NUMBER),
    NAMED("relative_attention_num_buckets", bias_buckets, MAX_POSITIONS, "N"),
    KNOWN("num_attention_heads", num_heads, MS_OF_COUNTS, MAX_HEADS, MS_FAMILY_DIM_HEADS),
    KNOWN("num_key_value_heads", num_kv_heads, MS_OF_COUNTS, MAX_HEADS, MS_FAMILY_DIM_KV_HEADS),
    KNOWN("head_dim", head_dim, MS_OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_HEAD),
    KNOWN("qk_rope_head_dim", head_dim, MS_OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_HEAD),
    KNOWN("qk_nope_head_dim", plain_key_dim, MS_OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_PLAIN_KEY),
    KNOWN("v_head_dim", value_dim, MS_OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_VALUE),
    KNOWN("q_lora_rank", query_rank, MS_OF_COUNTS, MAX_HIDDEN, MS_FAMILY_DIM_QUERY_RANK),
    KNOWN("kv_lora_rank", latent_rank, MS_OF_COUNTS, MAX_HIDDEN, MS_FAMILY_DIM_LATENT),
    KNOWN("index_n_heads", index_heads, MS_OF_COUNTS, MAX_HEADS, MS_FAMILY_DIM_INDEX_HEADS),
    KNOWN("index_head_dim", index_dim, MS_OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_INDEX),
    KNOWN("index_topk", index_tokens, MS_OF_COUNTS, MAX_POSITIONS, MS_FAMILY_DIM_NUMBER),
    KNOWN("max_position_embeddings", max_positions, MS_OF_COUNTS, MAX_POSITIONS,
          MS_FAMILY_DIM_POSITIONS),
    KNOWN("word_embed_proj_dim", embedding_width, MS_OF_COUNTS, MAX_HIDDEN,
          MS_FAMILY_DIM_EMBEDDING),
    KNOWN("num_ln_in_parallel_attn", parallel_norms, MS_OF_COUNTS, 2, PLAIN),
    KNOWN("local_attention", local_attention, MS_OF_COUNTS, MAX_POSITIONS, PLAIN),
    KNOWN("sliding_window", sliding_window, MS_OF_COUNTS, MAX_POSITIONS, PLAIN),
    KNOWN("sliding_window_pattern", sliding_pattern, MS_OF_COUNTS, MAX_LAYERS, PLAIN),
    KNOWN("max_window_layers", max_window_layers, MS_OF_COUNTS, MAX_POSITIONS, PLAIN),
    KNOWN("no_rope_layer_interval", no_rotary_interval, MS_OF_COUNTS, MAX_LAYERS, PLAIN),
    KNOWN("num_experts", num_experts, MS_OF_COUNTS, MAX_EXPERTS, MS_FAMILY_DIM_EXPERTS),
    KNOWN("num_experts_per_tok", experts_per_token, MS_OF_COUNTS, MAX_EXPERTS,
          MS_FAMILY_DIM_CHOSEN),
    KNOWN("moe_intermediate_size", expert_size, MS_OF_COUNTS, MAX_INTERMEDIATE,
          MS_FAMILY_DIM_EXPERT),
    KNOWN("shared_expert_intermediate_size", shared_expert_size, MS_OF_COUNTS, MAX_INTERMEDIATE,
          MS_FAMILY_DIM_SHARED),
    KNOWN("decoder_sparse_step", sparse_step, MS_OF_COUNTS, MAX_LAYERS, PLAIN),
    KNOWN("n_shared_experts", shared_experts, MS_OF_COUNTS, MAX_EXPERTS, MS_FAMILY_DIM_NUMBER),
    KNOWN("first_k_dense_replace", first_sparse_layer, MS_OF_COUNTS, MAX_LAYERS, PLAIN),
    KNOWN("n_group", expert_groups, MS_OF_COUNTS, MAX_EXPERTS, MS_FAMILY_DIM_NUMBER),
    KNOWN("topk_group", chosen_groups, MS_OF_COUNTS, MAX_EXPERTS, MS_FAMILY_DIM_NUMBER),
    KNOWN("limits_groups", limits_groups, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("num_nextn_predict_layers", prediction_layers, MS_OF_COUNTS, MAX_LAYERS, PLAIN),
    KNOWN("embedding_size", embedding_width, MS_OF_COUNTS, MAX_HIDDEN, MS_FAMILY_DIM_TABLE),
    KNOWN("type_vocab_size", sentence_types, MS_OF_COUNTS, MAX_VOCAB, MS_FAMILY_DIM_TYPES),
    KNOWN("rotary_dim", rotary_width, MS_OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_ROTARY),
    KNOWN("linear_num_key_heads", linear_key_heads, MS_OF_COUNTS, MAX_HEADS, PLAIN),
    KNOWN("linear_num_value_heads", linear_value_heads, MS_OF_COUNTS, MAX_HEADS, PLAIN),
    KNOWN("state_size", state_size, MS_OF_COUNTS, 1 << 14, PLAIN),
    KNOWN("scan_heads", scan_heads, MS_OF_COUNTS, MAX_HEADS, PLAIN),
    KNOWN("scan_head_dim", scan_head_dim, MS_OF_COUNTS, MAX_HEAD_DIM, PLAIN),
    KNOWN("n_groups", state_groups, MS_OF_COUNTS, MAX_HEADS, PLAIN),
    KNOWN("expand", expansion, MS_OF_COUNTS, MAX_HEADS, PLAIN),
    KNOWN("residual_in_fp32", residual_in_fp32, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("conv_kernel", convolution_width, MS_OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_NUMBER),
    KNOWN("feed_forward_size", mlp_width, MS_OF_COUNTS, MAX_INTERMEDIATE, PLAIN),
    KNOWN("pad_token_id", pad_token_id, MS_OF_COUNTS, MAX_VOCAB, PLAIN),
    KNOWN("num_kv_shared_layers", sharing_layers, MS_OF_COUNTS, MAX_LAYERS, PLAIN),
    LETTER("global_head_dim", wide_head_dim, MAX_HEAD_DIM, "Dw"),
    LETTER("num_global_key_value_heads", wide_kv_heads, MAX_HEADS, "Hw"),
    KNOWN("attention_k_eq_v", keys_are_values, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("enable_moe_block", has_experts, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("use_bidirectional_attention", sees_all, MS_OF_TRUTHS, 1, PLAIN),
    LETTER("hidden_size_per_layer_input", layer_input_size, MAX_HEAD_DIM, "P"),
    LETTER("vocab_size_per_layer_input", layer_input_rows, MAX_VOCAB, "Vl"),
    LETTER("laurel_rank", laurel_rank, MAX_HIDDEN, "R"),
    LETTER("altup_num_inputs", altup_streams, 6, "N"),
    KNOWN("altup_correct_scale", scales_corrected, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("altup_active_idx", active_stream, MS_OF_COUNTS, 6, MS_FAMILY_DIM_NUMBER),
    KNOWN("altup_coef_clip", clips_coefficients, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("tie_word_embeddings", tie_word_embeddings, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("is_encoder_decoder", is_encoder_decoder, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("gates_mlp", gates_mlp, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("attention_bias", attention_bias, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("attention_out_bias", output_bias, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("mlp_bias", mlp_bias, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("use_sliding_window", use_sliding_window, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("qk_layernorm", head_norms, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("norm_topk_prob", normalises_experts, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("output_router_logits", outputs_router_logits, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("clip_qkv", clips_projections, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("scale_attn_weights", scale_attn_weights, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("attn_logit_softcapping", caps_scores, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("final_logit_softcapping", caps_logits, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("use_parallel_residual", parallel_residual, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("classifier_dropout", classifier_dropout, MS_OF_FRACTIONS, 1, PLAIN),
    KNOWN("layerdrop", layer_drop, MS_OF_FRACTIONS, 1, PLAIN),
    KNOWN("new_decoder_architecture", groups_kv, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("multi_query", shares_kv, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("parallel_attn", is_parallel, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("alibi", alibi, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("turns_heads", turns_heads, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("attention_dropout", attention_dropout, MS_OF_FRACTIONS, 1, PLAIN),
    KNOWN("residual_dropout", residual_dropout, MS_OF_FRACTIONS, 1, PLAIN),
    KNOWN("embedding_dropout", embedding_dropout, MS_OF_FRACTIONS, 1, PLAIN),
    KNOWN("partial_rotary_factor", rotary_share, MS_OF_FRACTIONS, 1, PLAIN),
    KNOWN("mixing_dropout", mixing_dropout, MS_OF_FRACTIONS, 1, PLAIN),
    KNOWN("broadcasts_kv", broadcasts_kv, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("skipped_positions", skipped_positions, MS_OF_COUNTS, MAX_VOCAB, PLAIN),
    KNOWN("router_jitter_noise", router_jitter, MS_OF_FRACTIONS, 1, PLAIN),
    KNOWN("classifier_activation", head_activation, MS_OF_ACTIVATIONS, 1, PLAIN),
    KNOWN("hidden_act", activation, MS_OF_ACTIVATIONS, 1, PLAIN),
    KNOWN("image_tokens", image_tokens, MS_OF_COUNTS, MAX_POSITIONS, MS_FAMILY_DIM_TOKENS),
    KNOWN("vision_intermediate_size", vision.intermediate_size, MS_OF_COUNTS, MAX_INTERMEDIATE,
          PLAIN),
    KNOWN("layers_before_features", vision.feature_layers, MS_OF_COUNTS, MAX_LAYERS,
          MS_FAMILY_DIM_NUMBER),
    KNOWN("audio_first_channels", audio.channels[0], MS_OF_COUNTS, MAX_HEADS, PLAIN),
    KNOWN("audio_second_channels", audio.channels[1], MS_OF_COUNTS, MAX_HEADS, PLAIN),
    KNOWN("image_token_id", image_token_id, MS_OF_COUNTS, MAX_VOCAB, PLAIN),
    KNOWN("mm_tokens_per_image", vision.tokens, MS_OF_COUNTS, MAX_POSITIONS, MS_FAMILY_DIM_NUMBER),
    KNOWN("projector_hidden_act", vision.projector_activation, MS_OF_ACTIVATIONS, 1, PLAIN),
    KNOWN("keeps_class_token", vision.keeps_class, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("vision_feature_layer", vision.feature_layer, MS_OF_INTEGERS, MAX_LAYERS, PLAIN),
    KNOWN("multimodal_projector_bias", vision.projector_bias, MS_OF_TRUTHS, 1, PLAIN),
};

/* Of class vision_config. */
#define SEEN(name, member, most)                                                                   \
    KNOWN(name, vision.member, MS_OF_COUNTS, most, MS_FAMILY_DIM_NUMBER)
static const ms_known_name seen[] = {
    NAMED("hidden_size", vision.hidden_size, MAX_HIDDEN, "Hv"),
    NAMED("intermediate_size", vision.intermediate_size, MAX_INTERMEDIATE, "Iv"),
    NAMED("out_hidden_size", vision.out_size, MAX_HIDDEN, "Ov"),
    SEEN("vision_output_dim", out_size, MAX_HIDDEN),
    SEEN("projector_input_dim", projector_in, MAX_HIDDEN),
    SEEN("projector_output_dim", projector_out, MAX_HIDDEN),
    SEEN("num_key_value_heads", num_kv_heads, MAX_HEADS),
    NAMED("head_dim", vision.head_dim, MAX_HEAD_DIM, "Dv"),
    SEEN("pooling_kernel_size", pool_size, 64),
    SEEN("position_embedding_size", positions, MAX_POSITIONS),
    KNOWN("use_clipped_linears", vision.has_bounds, MS_OF_TRUTHS, 1, PLAIN),
    KNOWN("standardize", vision.standardizes, MS_OF_TRUTHS, 1, PLAIN),
    SEEN("mlp_ratio", mlp_ratio, 64),
    SEEN("num_position_embeddings", positions, MAX_POSITIONS),
    SEEN("spatial_merge_size", merge_size, 64),
    SEEN("temporal_patch_size", frames, MAX_HEADS),
    SEEN("window_size", window_size, MAX_POSITIONS),
    KNOWN("marked_blocks", vision.marked_blocks, MS_OF_COUNTS, MS_MOST_BLOCKS - 1, PLAIN),
    SEEN("num_hidden_layers", num_layers, MAX_LAYERS),
    SEEN("num_attention_heads", num_heads, MAX_HEADS),
    SEEN("num_channels", channels, MAX_HEADS),
    SEEN("image_size", image_size, MAX_HIDDEN),
    KNOWN("vision_use_head", vision.has_head, MS_OF_TRUTHS, 1, PLAIN),
    SEEN("patch_size", patch_size, MAX_HEADS),
    KNOWN("hidden_act", vision.activation, MS_OF_ACTIVATIONS, 1, PLAIN),
    KNOWN("attention_dropout", vision.dropout, MS_OF_FRACTIONS, 1, PLAIN),
};

/* Of class audio_config. */
#define HEARD(name, member, most)                                                                  \
    KNOWN(name, audio.member, MS_OF_COUNTS, most, MS_FAMILY_DIM_NUMBER)
static const ms_known_name heard[] = {
    NAMED("hidden_size", audio.hidden_size, MAX_HIDDEN, "Ha"),
    HEARD("num_hidden_layers", num_layers, MAX_LAYERS),
    HEARD("num_attention_heads", num_heads, MAX_HEADS),
    HEARD("conv_kernel_size", kernel_size, MAX_HEADS),
    HEARD("first_channels", channels[0], MAX_HEADS),
    HEARD("output_proj_dims", out_size, MAX_HIDDEN),
    KNOWN("use_clipped_linears", audio.has_bounds, MS_OF_TRUTHS, 1, PLAIN),
};

const ms_known_name *ms_known_name_find(const char *object, const char *name)
{
    static const struct {
        const char *object;
        const ms_known_name *names;
        size_t count;
    } tables[] = {{"vision_config", seen, sizeof seen / sizeof *seen},
                  {"audio_config", heard, sizeof heard / sizeof *heard}};
    const ms_known_name *names = known;
    size_t count = sizeof known / sizeof *known;
    for (size_t i = 0; object && i < sizeof tables / sizeof *tables; i++)
        if (strcmp(tables[i].object, object) == 0) {
            names = tables[i].names;
            count = tables[i].count;
        }
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i].name, name) == 0)
            return &names[i];
    return NULL;
}
