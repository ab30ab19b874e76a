/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * EXAONE 4: norms after attention and MLP and over each head's query and key. If some layers slide,
 * the others have no rotary embedding.
 */
#include "model/decoder/decoder.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 102400, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 16384, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 32, MAX_HEADS),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 2048, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    SLIDING_WINDOW,
    { .name = "sliding_window_pattern", .kind = MS_KEY_OPTIONAL, .offset = MEMBER(sliding_pattern),
      .default_value = 4, .null_kind = MS_DEFAULT_VALUE, .maximum = MAX_LAYERS, .may_be_text = true },
    LAYER_TYPES,
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED,
};
/* clang-format on */

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    uint64_t pattern = config->sliding_pattern;
    return pattern > 0 && (layer + 1) % pattern ? MS_LAYER_SLIDES : 0;
}

static bool build(ms_model *model)
{
    return ms_decoder_build(
        model, (ms_decoder_style){.norms = {{"post_attention_layernorm", MS_NORM_AFTER_ATTENTION},
                                            {"post_feedforward_layernorm", MS_NORM_AFTER_MLP}},
                                  .head_norms = MS_HEAD_NORMS_LAST,
                                  .only_sliding_turn = model->config->sliding_window > 0,
                                  .mask_arguments = true});
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .blocks = MS_BLOCK_PROJECTIONS | MS_BLOCK_HEAD_NORMS | MS_BLOCK_MORE_NORMS |
              MS_BLOCK_GATED_MLP | MS_BLOCK_UNTURNED,
    .compared = MS_WITH_CHUNKED_LOSS,
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST | MS_LIGER_IS_HEADS,
              .copying_norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST | MS_LIGER_IS_HEADS,
              .logits_share = 1},
};

const ms_family ms_family_exaone4 = {
    .model_type = "exaone4",
    .facts = &facts,
    .classes = {{"Exaone4ForCausalLM", MS_HEAD_CAUSAL_LM},
                {"Exaone4ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .layer_kind = layer_kind,
    .takes_cache = true,
    .program = &program};
