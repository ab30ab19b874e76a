/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Command R and Command R7B (cohere2): attention and MLP in parallel after one layer norm without
 * bias, heads rotated by pairs in fp32, logits scaled. cohere2's layers slide, except every fourth,
 * which has no rotary embedding.
 */
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_layer.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/ops.h"

/* clang-format off */
#define COHERE_KEYS                                                                                \
    COUNT("vocab_size", vocab_size, 256000, MAX_VOCAB),                                            \
    COUNT("hidden_size", hidden_size, 8192, MAX_HIDDEN),                                           \
    COUNT("intermediate_size", intermediate_size, 22528, MAX_INTERMEDIATE),                        \
    COUNT("num_hidden_layers", num_layers, 40, MAX_LAYERS),                                        \
    COUNT("num_attention_heads", num_heads, 64, MAX_HEADS),                                        \
    KV_HEADS_AS_HEADS,                                                                             \
    COUNT("max_position_embeddings", max_positions, 8192, MAX_POSITIONS),                          \
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),                                                  \
    BOOL("tie_word_embeddings", tie_word_embeddings, true),                                        \
    BOOL("attention_bias", attention_bias, false),                                                 \
    FRACTION("attention_dropout", attention_dropout, 0),                                           \
    PAD_TOKEN_OR(0),                                                                               \
    IGNORED("logit_scale"), /* a factor of 1 is applied too */                                     \
    IGNORED("layer_norm_eps"),                                                                     \
    DECODER_IGNORED

static const ms_key keys[] = {
    COHERE_KEYS,
    BOOL("use_qk_norm", head_norms, false),
};

static const ms_key keys2[] = {
    COHERE_KEYS,
    HEAD_DIM_FROM_HIDDEN,
    SLIDING_WINDOW,
    COUNT("sliding_window_pattern", sliding_pattern, 4, MAX_LAYERS),
    LAYER_TYPES,
};
/* clang-format on */

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_decoder *d = model->modules;
    const ms_decoder_layer *l = &d->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_assign(&f, hidden, ms_norm_at(model, l, MS_NORM_BEFORE_ATTENTION, *hidden));
    ms_tensor *attn_output = ms_local(&f, 0);
    ms_assign(&f, attn_output, ms_layer_attention(model, l, &f, *hidden));
    ms_tensor *mlp = ms_local(&f, ms_layer_mlp(model, l, *hidden));
    ms_tensor sum = ms_add(tape, *residual, *attn_output);
    ms_assign(&f, hidden, ms_add(tape, sum, *mlp));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static ms_decoder_style style_of(ms_model *model)
{
    bool bias = model->config->attention_bias;
    model->scale_logits = ms_mul_scalar;
    return (ms_decoder_style){.norms = {{"input_layernorm", MS_NORM_BEFORE_ATTENTION}},
                              .run_layer = run_layer,
                              .rotary = ms_rotary_pairs_fp32,
                              .norm = ms_fp32_layer_norm_call,
                              .qkv_bias = bias,
                              .output_bias = bias};
}

static bool build(ms_model *model)
{
    ms_decoder_style style = style_of(model);
    if (model->config->head_norms) {
        style.head_norms = MS_HEAD_NORMS_BETWEEN;
        style.own_head_norms = true;
    }
    return ms_decoder_build(model, style);
}

static bool build2(ms_model *model)
{
    ms_decoder_style style = style_of(model);
    style.mask_arguments = style.both_masks = style.only_sliding_turn = true;
    return ms_decoder_build(model, style);
}

static uint8_t layer_kind2(const ms_model_config *config, uint64_t layer)
{
    return (layer + 1) % config->sliding_pattern ? MS_LAYER_SLIDES : 0;
}

static const ms_model_program program = {build, ms_decoder_forward};
static const ms_model_program program2 = {build2, ms_decoder_forward};

static const ms_family_facts cohere_facts = {
    .compared = MS_WITH_TITAN_UNITS | MS_WITH_CONTEXT | MS_WITH_ZERO3 | MS_WITH_ACCELERATE_UNITS |
                MS_WITH_BROADCAST,
};

const ms_family ms_family_cohere = {.model_type = "cohere",
                                    .facts = &cohere_facts,
                                    .classes = {{"CohereForCausalLM", MS_HEAD_CAUSAL_LM}},
                                    .keys = keys,
                                    .key_count = sizeof keys / sizeof *keys,
                                    .check = ms_check_heads_divide,
                                    .scales_logits = true,
                                    .takes_cache = true,
                                    .program = &program};

static const ms_family_facts cohere2_facts = {
    .compared = MS_WITH_ACCELERATE_UNITS | MS_WITH_TITAN_UNITS | MS_WITH_ZERO3,
};

const ms_family ms_family_cohere2 = {.model_type = "cohere2",
                                     .facts = &cohere2_facts,
                                     .classes = {{"Cohere2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                     .keys = keys2,
                                     .key_count = sizeof keys2 / sizeof *keys2,
                                     .check = ms_check_heads_divide,
                                     .layer_kind = layer_kind2,
                                     .scales_logits = true,
                                     .takes_cache = true,
                                     .program = &program2};
