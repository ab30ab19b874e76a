/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 3: Gemma 2's layer with norms over each head's query and key instead of caps; all layers
 * but every sixth slide, and turn with a rotary table of their own.
 */
#include "model/families.h"
#include "model/family_keys.h"
#include "model/gemma.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 262208, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2304, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 9216, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 26, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 8, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 4, MAX_HEADS),
    COUNT("head_dim", head_dim, 256, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),
    ACTIVATION("hidden_activation", MS_ACTIVATION_GELU_TANH),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    BOOL("attention_bias", attention_bias, false),
    COUNT("sliding_window", sliding_window, 4096, MAX_POSITIONS),
    COUNT("sliding_window_pattern", sliding_pattern, 6, MAX_LAYERS),
    LAYER_TYPES,
    FRACTION("attention_dropout", attention_dropout, 0),
    IS_SET("final_logit_softcapping", caps_logits, false),
    FIXED("use_bidirectional_attention", false),
    PAD_TOKEN,
    IGNORED("attn_logit_softcapping"),  /* the class hands it to nobody */
    IGNORED("_sliding_window_pattern"), /* written beside layer_types, and not read */
    IGNORED("query_pre_attn_scalar"),
    IGNORED("rope_local_base_freq"),
    DECODER_IGNORED,
};
/* clang-format on */

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    return (layer + 1) % config->sliding_pattern ? MS_LAYER_SLIDES : 0;
}

static bool build(ms_model *model)
{
    ms_decoder_style style = ms_gemma_style(model->config);
    style.build_layer = ms_gemma2_layer_new;
    style.run_layer = ms_gemma2_layer;
    style.head_norms = style.head_norms_last = true;
    style.rotary_by_kind = true;
    style.mask_arguments = style.both_masks = true;
    return ms_decoder_build(model, style);
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_gemma3_text = {.model_type = "gemma3_text",
                                         .class_name = "Gemma3ForCausalLM",
                                         .keys = keys,
                                         .key_count = sizeof keys / sizeof *keys,
                                         .check = ms_check_heads_divide,
                                         .layer_kind = layer_kind,
                                         .program = &program};
