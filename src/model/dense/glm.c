/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GLM: gate and up in one product, half of each head rotated by pairs. GLM-4 of 2025 (glm4) has
 * four norms a layer instead of two.
 */
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_mlp.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 151552, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 13696, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 40, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 2, MAX_HEADS),
    COUNT("head_dim", head_dim, 128, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),
    ROTARY_SHARE("partial_rotary_factor", 0.5),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, true),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN_OR(151329),
    DECODER_IGNORED,
};
/* clang-format on */

static ms_decoder_style style_of(const ms_model_config *config)
{
    return (ms_decoder_style){.rotary = ms_rotary_pairs,
                              .build_mlp = ms_fused_mlp_new,
                              .mlp = ms_fused_mlp,
                              .qkv_bias = config->attention_bias};
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, style_of(model->config));
}

static bool build4(ms_model *model)
{
    ms_decoder_style style = style_of(model->config);
    style.norms[0] = (ms_norm_row){"input_layernorm", MS_NORM_BEFORE_ATTENTION};
    style.norms[1] = (ms_norm_row){"post_attention_layernorm", MS_NORM_BEFORE_MLP};
    style.norms[2] = (ms_norm_row){"post_self_attn_layernorm", MS_NORM_AFTER_ATTENTION};
    style.norms[3] = (ms_norm_row){"post_mlp_layernorm", MS_NORM_AFTER_MLP};
    return ms_decoder_build(model, style);
}

static const ms_model_program program = {build, ms_decoder_forward};
static const ms_model_program program4 = {build4, ms_decoder_forward};

static const ms_family_facts glm_facts = {
    .blocks = MS_BLOCK_PROJECTIONS | MS_BLOCK_TWO_NORMS | MS_BLOCK_JOINED | MS_BLOCK_OTHER_ROTARY,
    .compared = MS_WITH_CHUNKED_LOSS,

};

const ms_family ms_family_glm = {.model_type = "glm",
                                 .facts = &glm_facts,
                                 .classes = {{"GlmForCausalLM", MS_HEAD_CAUSAL_LM}},
                                 .keys = keys,
                                 .key_count = sizeof keys / sizeof *keys,
                                 .takes_cache = true,
                                 .program = &program};

static const ms_family_facts glm4_facts = {
    .blocks = MS_BLOCK_PROJECTIONS | MS_BLOCK_TWO_NORMS | MS_BLOCK_MORE_NORMS | MS_BLOCK_JOINED |
              MS_BLOCK_OTHER_ROTARY,
    .compared = MS_WITH_CHUNKED_LOSS,
    .liger = {.kernels = MS_LIGER_RMS_NORM | MS_LIGER_SWIGLU | MS_LIGER_LOSS,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .copying_norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
};

const ms_family ms_family_glm4 = {.model_type = "glm4",
                                  .facts = &glm4_facts,
                                  .classes = {{"Glm4ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                  .keys = keys,
                                  .key_count = sizeof keys / sizeof *keys,
                                  .takes_cache = true,
                                  .program = &program4};
